//go:build !linux

package process

// UnmapProgram does nothing where the kernel has no such call.
func UnmapProgram() error { return nil }
