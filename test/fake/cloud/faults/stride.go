package faults

import (
	"os"
	"strconv"
)

// Stride is how many cases of a suite that fails every call lie between two that
// are run. All of them take hours of two cores, so a run takes a sample, and
// `make faults`, which sets DET_FAULT_STRIDE to 1, takes all.
func Stride(usual int) int {
	if n, err := strconv.Atoi(os.Getenv("DET_FAULT_STRIDE")); err == nil && n > 0 {
		return n
	}
	return usual
}

// Whole is whether a suite that knows no stride, but a sample or everything, takes all.
func Whole() bool { return Stride(2) == 1 }

// Ways returns those of all faults with which call n fails: of a sample, one.
func Ways(all []Fault, n int) []Fault {
	if Whole() {
		return all
	}
	return []Fault{all[n%len(all)]}
}
