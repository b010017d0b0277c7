package container

import (
	"cmp"
	"reflect"
)

// Overlay returns t overridden by the settings in over. Lists, maps and specs are replaced, but
// images and variables are overridden by device type.
func (t Defaults) Overlay(over Defaults) Defaults {
	images, env := t.Image.overlay(over.Image), t.Environment.overlay(over.Environment)
	to, from := reflect.ValueOf(&t).Elem(), reflect.ValueOf(over)
	for i := range from.NumField() {
		if !from.Field(i).IsZero() {
			to.Field(i).Set(from.Field(i))
		}
	}
	t.Image, t.Environment = images, env
	return t
}

func (i Images) overlay(over Images) Images {
	return Images{CPU: cmp.Or(over.CPU, i.CPU), CUDA: cmp.Or(over.CUDA, i.CUDA), ROCm: cmp.Or(over.ROCm, i.ROCm)}
}

// overlay appends, so that a later variable of the same name wins.
func (v Environment) overlay(over Environment) Environment {
	join := func(a, b []string) []string { return append(append([]string(nil), a...), b...) }
	return Environment{CPU: join(v.CPU, over.CPU), CUDA: join(v.CUDA, over.CUDA), ROCm: join(v.ROCm, over.ROCm)}
}
