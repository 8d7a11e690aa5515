package addr

import (
	"debug/gosym"
	"errors"
	"fmt"
	"strings"
)

// goTable names the functions of a Go program without debug information. It does not know inlined
// functions.
type goTable struct {
	table *gosym.Table
	bytes int64
}

const goMain = "main.main"

// leastGoFunction is the number of bytes in the table that the smallest functions need on average.
// It limits the functions that a damaged file can claim to have.
const leastGoFunction = 32

// openGoTable reads the tables of a Go program; nil: it is none.
func openGoTable(o *object) (t *goTable, err error) {
	defer recoverAs(&err)
	name := ".gopclntab"
	if _, ok := o.find(name); !ok {
		if name = ".data.rel.ro.gopclntab"; !o.has(name) {
			return nil, nil
		}
	}
	text, ok := o.find(".text")
	if !ok {
		return nil, nil // only debug information
	}
	start, ok := o.addressOf(text)
	if !ok {
		return nil, errors.New("the code is in no segment")
	}
	data, err := o.read(name)
	if err != nil {
		return nil, err
	}
	const head = 8 // magic, and the sizes of instructions and addresses
	if len(data) < head+8 {
		return nil, errors.New("the table is cut short")
	}
	word := o.file.WordSize()
	if n := o.file.Word(data[head : head+word]); n > uint64(len(data)/leastGoFunction) {
		return nil, fmt.Errorf("%d functions in a table of %d bytes", n, len(data))
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, start))
	if err != nil {
		return nil, err
	}
	// If another linker put other code before Go's, the offsets in the table count from elsewhere.
	entry := table.PCToFunc(o.file.Entry)
	if entry == nil || entry.Entry != o.file.Entry || !strings.HasPrefix(entry.Name, "_rt0_") {
		return nil, errors.New("the program does not begin with Go's code")
	}
	return &goTable{table, int64(len(data)) * 5}, nil
}

// frame returns the function and the line at an address.
func (t *goTable) frame(address uint64) (f Frame) {
	var err error
	defer recoverAs(&err)
	file, line, function := t.table.PCToLine(address)
	if function == nil || line <= 0 { // between functions, the line is -1
		return Frame{}
	}
	return Frame{Function: clean(function.Name), File: clean(file), Line: line}
}
