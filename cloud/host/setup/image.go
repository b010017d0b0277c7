package setup

import (
	"os"
	"path/filepath"
	"strings"
)

// nvidia is NVIDIA's PCI vendor ID.
const nvidia = "0x10de"

// Lacks returns the missing prerequisites of an agent's image for running containers, one sentence
// each. Look finds a program in PATH, like exec.LookPath.
func Lacks(root string, look func(name string) (string, error)) []string {
	has := func(name string) bool {
		_, err := look(name)
		return err == nil
	}
	var out []string
	if !has("dockerd") && !fileExists(filepath.Join(root, "/run/docker.sock")) && !fileExists(filepath.Join(root, "/var/run/docker.sock")) {
		out = append(out, "this image has no Docker Engine, and the agent waits for it; choose an image with it, or install it in the pool's startup_script")
	}
	if !HasGPU(root) {
		return out
	}
	if !fileExists(filepath.Join(root, "/proc/driver/nvidia/version")) && !has("nvidia-smi") {
		out = append(out, "this machine has an NVIDIA GPU but its image has no NVIDIA driver, so it has no slots; choose an image with the driver")
	}
	if !has("nvidia-ctk") && !has("nvidia-container-cli") {
		out = append(out, "this image has no NVIDIA Container Toolkit, so containers cannot use the GPUs; choose an image with it")
	}
	return out
}

// HasGPU reports whether the machine has an NVIDIA GPU. Root is "/" except in tests.
func HasGPU(root string) bool {
	vendors, err := filepath.Glob(filepath.Join(root, "/sys/bus/pci/devices/*/vendor"))
	if err != nil {
		return false // the pattern is well formed
	}
	for _, file := range vendors {
		if id, err := os.ReadFile(file); err == nil && strings.TrimSpace(string(id)) == nvidia && isGPU(filepath.Dir(file)) {
			return true
		}
	}
	return false
}

// isGPU reports whether a PCI device is a display controller, class 0x03, as opposed to a bridge or
// an audio device of the same vendor.
func isGPU(device string) bool {
	class, err := os.ReadFile(filepath.Join(device, "class"))
	return err == nil && strings.HasPrefix(string(class), "0x03")
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
