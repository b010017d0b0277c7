package notebook

import (
	"testing"
	"time"

	"github.com/det-deploy/det-deploy/master/task/spec"
)

func at(minute int) time.Time {
	return time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC).Add(time.Duration(minute) * time.Minute)
}

func TestLastUse(t *testing.T) {
	t.Parallel()
	idle := seen{Kernels: []kernel{{State: "idle", Active: at(3)}}, Terminals: []terminal{{Active: at(5)}}}
	for _, tt := range []struct {
		name string
		seen seen
		by   spec.IdleType
		want time.Time
	}{
		{"nothing runs", seen{}, spec.KernelsOrTerminals, time.Time{}},
		{"a kernel exists", seen{Kernels: idle.Kernels}, spec.KernelsOrTerminals, at(9)},
		{"a terminal exists", seen{Terminals: idle.Terminals}, spec.KernelsOrTerminals, at(9)},
		{"nobody is connected", idle, spec.KernelConnections, time.Time{}},
		{"someone is connected", seen{Kernels: []kernel{{Connections: 1}}}, spec.KernelConnections, at(9)},
		{"the last activity", idle, spec.Activity, at(5)},
		{"a kernel computes", seen{Kernels: []kernel{{State: "busy"}}}, spec.Activity, at(9)},
		{"a clock is ahead", seen{Kernels: []kernel{{Active: at(60)}}}, spec.Activity, at(9)},
	} {
		if got := tt.seen.lastUse(tt.by, at(9)); !got.Equal(tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
