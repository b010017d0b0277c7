package facts

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// gpuGenerations maps the GPUs of EC2 to NVIDIA's architecture names. EC2 returns the GPU's name
// only.
func gpuGenerations() map[string]string {
	return map[string]string{
		"K520": "Kepler", "K80": "Kepler",
		"M60":  "Maxwell",
		"V100": "Volta",
		"T4":   "Turing", "T4G": "Turing",
		"A10G": "Ampere", "A100": "Ampere",
		"L4": "Ada Lovelace", "L40S": "Ada Lovelace",
		"H100": "Hopper", "H200": "Hopper",
		"B200": "Blackwell", "B300": "Blackwell", "GB200": "Blackwell", "GB300": "Blackwell", "RTX PRO 6000": "Blackwell",
	}
}

// openDriver returns the architectures that NVIDIA's open kernel modules support, from Turing on.
func openDriver() []string {
	return []string{"Turing", "Ampere", "Ada Lovelace", "Hopper", "Blackwell"}
}

// Fit is the compatibility of an image's driver with the GPUs of an instance type.
type Fit string

// The compatibility of a driver.
const (
	Fits    Fit = "fits"
	FitsNot Fit = "does not fit"
	FitsMay Fit = "may fit" // a GPU newer than this program
)

// Fit reports whether the image's driver supports the GPUs of an instance type, and the reason if
// it does not.
func (s Stock) Fit(t Type) (f Fit, why string) {
	if t.GPUs == 0 {
		return Fits, ""
	}
	if !strings.EqualFold(t.Maker, "NVIDIA") {
		return FitsNot, fmt.Sprintf("%s has %s GPUs (%s), but the stock image has only NVIDIA's driver", t.Name, t.Maker, t.GPU)
	}
	generation := gpuGenerations()[strings.ToUpper(t.GPU)]
	switch {
	case generation == "":
		return FitsMay, fmt.Sprintf("%s has %s GPUs, which this version of det-deploy does not know", t.Name, t.GPU)
	case !slices.Contains(s.Generations, generation):
		return FitsNot, fmt.Sprintf("%s has %s GPUs (%s), but the stock image has NVIDIA's open driver, which requires %s or newer", t.Name, t.GPU, generation, s.Generations[0])
	}
	return Fits, ""
}

// SmallestFitting returns the smallest instance type with the given number of GPUs that the stock
// image supports and one of the zones offers, or "" otherwise.
func (f Facts) SmallestFitting(ctx context.Context, s Stock, gpus int, zones []string) string {
	all, err := f.GPUTypes(ctx)
	if err != nil {
		return ""
	}
	var names []string
	for _, t := range all {
		if fit, _ := s.Fit(t); fit == Fits && t.GPUs == gpus {
			names = append(names, t.Name)
		}
	}
	offered, err := f.Offered(ctx, names...)
	if err != nil {
		return ""
	}
	for _, name := range names {
		if slices.ContainsFunc(zones, func(z string) bool { return slices.Contains(offered[name], z) }) {
			return name
		}
	}
	return ""
}
