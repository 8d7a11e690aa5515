package grouping

import "strings"

// kernelFunctions is a set of function names and, for entries that end in an asterisk, of prefixes
// of names.
type kernelFunctions struct{ whole, begins map[string]bool }

func functionList(names string) kernelFunctions {
	list := kernelFunctions{map[string]bool{}, map[string]bool{}}
	for name := range strings.FieldsSeq(names) {
		if begin, ok := strings.CutSuffix(name, "*"); ok {
			list.begins[begin] = true
		} else {
			list.whole[name] = true
		}
	}
	return list
}

// has reports whether the set contains a function. It never contains functions of modules.
func (list kernelFunctions) has(name string) bool {
	if strings.HasSuffix(name, "]") {
		return false
	}
	for i := range min(len(name), 64) {
		if list.begins[name[:i+1]] {
			return true
		}
	}
	return list.whole[name]
}

// reporting lists functions that print a fault which happened elsewhere.
var reporting = functionList(`
dump_stack* show_stack show_regs show_trace* dump_backtrace* unwind_backtrace print_report
print_address_description* kasan_report* __kasan_report* __asan_* kasan_check* __kasan_check*
check_memory_region* kfence_* report_bug* handle_bug exc_* asm_exc_* __die* die die_addr oops_end
page_fault_oops no_context __bad_area* bad_area* do_user_addr_fault __do_page_fault do_page_fault
do_kern_addr_fault spurious_kernel_fault* panic vpanic __warn* warn_slowpath* do_trap* do_error_trap
do_invalid_op invalid_op async_page_fault page_fault general_protection do_general_protection divide_error
__ubsan_handle* ubsan_epilogue handle_overflow refcount_warn_saturate refcount_error_report __list_add_valid*
__list_del_entry_valid* el1_* el1h_64_* die_kernel_fault __do_kernel_fault do_mem_abort do_translation_fault
do_bad_area bug_handler call_break_hook brk_handler do_debug_exception do_undefinstr handle_exception
ret_from_exception do_report_trap pgm_check_handler __do_pgm_check default_trap_handler do_dat_exception
__might_sleep __might_resched ___might_sleep __schedule_bug bad_page* machine_kexec __crash_kexec crash_kexec
sysrq_handle_crash* nmi_panic nmi_cpu_backtrace* rust_helper_BUG`)

// entering lists functions at the outer end of the traces of many threads.
var entering = functionList(`
do_syscall_* x64_sys_call entry_SYSCALL_* entry_SYSENTER* entry_INT80* __do_fast_syscall_32 do_fast_syscall_32
do_SYSENTER_32 do_int80* ret_from_fork* kthread worker_thread secondary_startup_64* start_secondary
cpu_startup_entry do_idle arch_cpu_idle default_idle* cpuidle_* cpu_idle* el0_* el0t_* invoke_syscall
do_el0_svc* ret_to_user system_call* rest_init start_kernel x86_64_start_* asm_sysvec_* sysvec_*
asm_common_interrupt common_interrupt ret_fast_syscall __ret_from_fork kernel_thread_starter
ret_from_kernel_thread* __do_syscall tracesys*`)

// waiting lists functions at the inner end of the traces of waiting threads.
var waiting = functionList(`
__schedule schedule schedule_timeout schedule_preempt_disabled io_schedule* schedule_hrtimeout* rwsem_down_*
__down* down down_read down_write __mutex_lock* mutex_lock* wait_for_completion* __wait_for_common
wait_on_bit* out_of_line_wait_on_bit* bit_wait* __wait_on_bit* preempt_schedule* __cond_resched _cond_resched
native_queued_spin_lock_slowpath _raw_spin_lock* __switch_to`)
