package faults

import (
	"os"
	"strconv"
)

// Stride returns the sampling interval of a suite that injects a fault into every call. All cases
// take two cores several hours, so a run takes a sample. `make faults` sets DET_FAULT_STRIDE to 1
// and runs all cases.
func Stride(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("DET_FAULT_STRIDE")); err == nil && n > 0 {
		return n
	}
	return usual
}

// Whole reports whether a suite without a stride runs all cases or a sample.
func Whole() bool { return Stride(2) == 1 }

// Ways returns the faults to inject into call n: all of them or, in a sample, one.
func Ways(all []Fault, n int) []Fault {
	if Whole() {
		return all
	}
	return []Fault{all[n%len(all)]}
}
