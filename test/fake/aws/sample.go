package awstest

import (
	"reflect"
	"time"
)

// Sample sets all required fields of an input of the SDK, strings to "x", so that a test can make
// every call.
func Sample(in any) { sample(reflect.ValueOf(in).Elem()) }

func sample(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		if !f.CanSet() || v.Type().Field(i).Name == "DryRun" {
			continue
		}
		switch f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Map:
			f.Set(reflect.MakeMap(f.Type()))
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			sampleOne(f.Elem())
		case reflect.Slice:
			if k := f.Type().Elem().Kind(); k == reflect.Struct || k == reflect.String {
				f.Set(reflect.MakeSlice(f.Type(), 1, 1))
				sampleOne(f.Index(0))
			}
		default:
		}
	}
}

func sampleOne(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Struct:
		if v.Type() != reflect.TypeFor[time.Time]() {
			sample(v)
		}
	default:
	}
}
