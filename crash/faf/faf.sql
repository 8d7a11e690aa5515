-- Reports of FAF, the analytics server of ABRT, one JSON object in each row, for "mishap bugs import". It only reads.
with best as (
	-- The backtrace of each report that FAF shows first, and its crash thread.
	select distinct on (b.report_id) b.report_id, t.id as thread
	from reportbacktraces as b join reportbtthreads as t on t.backtrace_id = b.id
	where t.crashthread
	order by b.report_id, b.quality desc, b.id, t.number, t.id
)
select row_to_json(faf) from (
	select
		r.id as faf_report,
		coalesce(r.problem_id, 0) as problem,
		r.type,
		coalesce(r.errname, '') as error,
		array(
			select e.path from reportexecutables as e where e.report_id = r.id order by e.count desc, e.path limit 20
		) as executables,
		array(
			select row_to_json(frame) from (
				select coalesce(s.nice_name, s.name, '??') as function, p.path as file,
					coalesce(p.line_number, p."offset") as line
				from reportbtframes as f
					join symbolsources as p on p.id = f.symbolsource_id
					left join symbols as s on s.id = p.symbol_id
				where f.thread_id = best.thread
				order by f."order" limit 1000
			) as frame
		) as frames,
		array(select h.hash from reporthashes as h where h.report_id = r.id order by h.hash) as hashes,
		array(
			select row_to_json(bug) from (
				select t.name as tracker, b.id as number, '' as url
				from reportbz as l join bzbugs as b on b.id = l.bzbug_id join bugtrackers as t on t.id = b.tracker_id
				where l.report_id = r.id
				union
				select t.name, b.external_id, ''
				from reportmantis as l join mantisbugs as b on b.id = l.mantisbug_id
					join bugtrackers as t on t.id = b.tracker_id
				where l.report_id = r.id
				union
				select '', 0, u.url from reporturls as u where u.report_id = r.id
				order by 1, 2, 3
			) as bug
		) as bugs
	from reports as r left join best on best.report_id = r.id
	order by r.id
) as faf;
