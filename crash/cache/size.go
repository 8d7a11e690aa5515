package cache

import (
	"math/bits"
	"reflect"
	"time"
)

// SizeOf returns the number of bytes in memory that a value refers to, excluding the value itself:
// strings, slices with their capacity, maps with their empty slots, and the targets of pointers,
// each once. Functions and channels count as 0.
func SizeOf(value any) int64 {
	if value == nil {
		return 0
	}
	seen := visited{}
	return seen.below(reflect.ValueOf(value))
}

// visited contains the counted addresses with their types, since a struct and its first field have
// the same address.
type visited map[visit]bool

type visit struct {
	address uintptr
	of      reflect.Type
}

func (s visited) first(address uintptr, of reflect.Type) bool {
	at := visit{address, of}
	if s[at] {
		return false
	}
	s[at] = true
	return true
}

var location = reflect.TypeFor[time.Location]() // zones are shared by all times

// below returns the number of bytes that v refers to.
func (s visited) below(v reflect.Value) (n int64) {
	switch v.Kind() { //nolint:exhaustive // all others hold nothing else
	case reflect.String:
		return rounded(int64(v.Len()))
	case reflect.Pointer:
		if v.IsNil() || v.Type().Elem() == location || !s.first(v.Pointer(), v.Type()) {
			return 0
		}
		return size(v.Type().Elem()) + s.below(v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return size(v.Elem().Type()) + s.below(v.Elem())
	case reflect.Slice:
		if v.Cap() == 0 || !s.first(v.Pointer(), v.Type()) {
			return 0
		}
		return rounded(int64(v.Cap())*size(v.Type().Elem())) + s.elements(v)
	case reflect.Array:
		return s.elements(v)
	case reflect.Struct:
		for i := range v.NumField() {
			n += s.below(v.Field(i))
		}
		return n
	case reflect.Map:
		return s.belowMap(v)
	}
	return 0
}

// elements returns the number of bytes that the elements of a slice or array refer to.
func (s visited) elements(v reflect.Value) (n int64) {
	if flat(v.Type().Elem()) {
		return 0
	}
	for i := range v.Len() {
		n += s.below(v.Index(i))
	}
	return n
}

// belowMap returns the size of a map. A map has eight slots or a larger power of two, at most 7/8
// of them in use.
func (s visited) belowMap(v reflect.Value) int64 {
	if v.IsNil() || !s.first(v.Pointer(), v.Type()) {
		return 0
	}
	slots := int64(8)
	if n := v.Len(); n > 8 {
		slots = 1 << bits.Len(uint(n*8/7))
	}
	n := int64(48) + slots*(1+size(v.Type().Key())+size(v.Type().Elem()))
	if flat(v.Type().Key()) && flat(v.Type().Elem()) {
		return n
	}
	for each := v.MapRange(); each.Next(); {
		n += s.below(each.Key()) + s.below(each.Value())
	}
	return n
}

// rounded returns the smallest size of an allocation of n bytes.
func rounded(n int64) int64 { return (n + 7) &^ 7 }

func size(t reflect.Type) int64 { return int64(t.Size()) } //nolint:gosec // no type is that large

// flat reports whether values of a type contain no references.
func flat(t reflect.Type) bool {
	switch t.Kind() { //nolint:exhaustive // all others are numbers
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map, reflect.Struct:
		return false
	case reflect.Array:
		return flat(t.Elem())
	}
	return true
}
