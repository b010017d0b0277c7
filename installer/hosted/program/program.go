// Package program locates the det-deploy programs on this computer for the architectures of a
// cluster's machines.
package program

import (
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/internal/checksum"
	"github.com/det-deploy/det-deploy/internal/document"
)

// File is the det-deploy program for one architecture.
type File struct {
	Path   string
	SHA256 string
}

// Set maps architectures, "amd64" or "arm64", to programs.
type Set map[string]File

// Load reads the named programs, each given as arch=path, and own, the running program, for its
// architecture if it is a Linux program. Cluster machines only run Linux.
func Load(named []string, own string) (Set, error) {
	out := Set{}
	var wrong document.Errors
	complain := func(format string, args ...any) {
		wrong = append(wrong, document.Problem{File: "--binary", Text: fmt.Sprintf(format, args...)})
	}
	for _, n := range named {
		arch, path, ok := strings.Cut(n, "=")
		if !ok || arch != "amd64" && arch != "arm64" {
			complain("must be amd64=PATH or arm64=PATH (is %q)", n)
			continue
		}
		p, have, err := loadFile(path)
		switch {
		case err != nil:
			complain("read %s: %v", path, err)
		case have != arch:
			complain("%s is a program for %s and not for linux/%s", path, orUnknown(have), arch)
		default:
			out[arch] = p
		}
	}
	if own != "" {
		p, arch, err := loadFile(own)
		if _, named := out[arch]; err == nil && arch != "" && !named {
			out[arch] = p
		}
	}
	return out, wrong.Err()
}

// loadFile returns the hash and architecture of a program; the architecture is empty if the file is
// not a Linux program.
func loadFile(path string) (File, string, error) {
	f, err := os.Open(path)
	if err != nil {
		return File{}, "", err
	}
	defer func() { _ = f.Close() }() // only read
	sum, err := checksum.Of(f)
	if err != nil {
		return File{}, "", err
	}
	return File{path, sum}, readArchitecture(f), nil
}

func readArchitecture(f *os.File) string {
	e, err := elf.NewFile(f)
	if err != nil {
		return ""
	}
	switch e.Machine { //nolint:exhaustive // no release for other architectures
	case elf.EM_X86_64:
		return "amd64"
	case elf.EM_AARCH64:
		return "arm64"
	}
	return ""
}

func orUnknown(arch string) string {
	if arch == "" {
		return "another system"
	}
	return "linux/" + arch
}

// Missing returns the needed architectures that have no program.
func (p Set) Missing(needed []string, have map[string]string) []string {
	var out []string
	for _, arch := range needed {
		if _, ok := p[arch]; !ok && have[arch] == "" {
			out = append(out, arch)
		}
	}
	return out
}

// Sums returns the hashes of the programs by architecture.
func (p Set) Sums() map[string]string {
	out := make(map[string]string, len(p))
	for _, arch := range slices.Sorted(maps.Keys(p)) {
		out[arch] = p[arch].SHA256
	}
	return out
}
