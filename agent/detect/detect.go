// Package detect detects the slots of a machine: NVIDIA or AMD GPUs, all CPU cores as one slot, or
// artificial slots. It runs the vendors' tools and returns their error output if they fail.
package detect

import (
	"context"
	"errors"
	"fmt"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// SlotType selects the devices that become slots.
type SlotType string

// Values of slot_type in agent.yaml.
const (
	// Auto selects NVIDIA GPUs, else AMD GPUs, else the CPU.
	Auto SlotType = "auto"
	// GPU selects NVIDIA GPUs, else AMD GPUs, and fails without any.
	GPU  SlotType = "gpu"
	CUDA SlotType = "cuda"
	ROCm SlotType = "rocm"
	CPU  SlotType = "cpu"
	// None creates no slots; the agent runs auxiliary tasks only.
	None SlotType = "none"
)

// ErrNoDevice is returned if an explicit slot type matches no device.
var ErrNoDevice = errors.New("no such device on this machine")

// ErrNoTool is returned by a Runner for a program that is not installed.
var ErrNoTool = errors.New("program is not installed")

// Runner runs a program and returns its output. Tests replace it with recorded outputs.
type Runner func(ctx context.Context, name string, args ...string) (Output, error)

// Output is the output and exit code of a program.
type Output struct {
	Stdout, Stderr []byte
	Code           int
}

// Options configures the detection.
type Options struct {
	SlotType SlotType
	// VisibleGPUs is a comma-separated list of indices or UUIDs, as in CUDA_VISIBLE_DEVICES. If
	// empty, all GPUs are visible.
	VisibleGPUs string
	// ArtificialSlots, if positive, overrides SlotType.
	ArtificialSlots int
	// AgentID seeds the UUIDs of devices without their own.
	AgentID string
	// CPUModel and Cores describe the CPU.
	CPUModel string
	Cores    int
	Run      Runner
}

// Found is the result of a detection.
type Found struct {
	Devices []*apiv1.Device
	// Problems are the errors of installed tools that SlotType does not require.
	Problems []error
}

// Devices detects the slots. With Auto, a missing tool is no error; an explicit slot type returns
// every error.
func Devices(ctx context.Context, o Options) (Found, error) {
	if o.ArtificialSlots > 0 {
		return Found{Devices: artificialSlots(o.AgentID, o.ArtificialSlots)}, nil
	}
	switch o.SlotType {
	case None:
		return Found{}, nil
	case CPU:
		return Found{Devices: detectCPU(o)}, nil
	case CUDA:
		d, err := detectCUDA(ctx, o)
		return requireDevices(d, err, CUDA)
	case ROCm:
		d, err := detectROCm(ctx, o)
		return requireDevices(d, err, ROCm)
	case GPU:
		f := detectGPUs(ctx, o)
		if len(f.Devices) == 0 {
			return Found{}, fmt.Errorf("slot_type %s: %w", GPU, errors.Join(append(f.Problems, ErrNoDevice)...))
		}
		return f, nil
	case Auto, "":
		f := detectGPUs(ctx, o)
		if len(f.Devices) == 0 {
			f.Devices = detectCPU(o)
		}
		return f, nil
	default:
		return Found{}, fmt.Errorf("slot_type %q: must be one of auto, gpu, cuda, rocm, cpu, none", o.SlotType)
	}
}

func requireDevices(d []*apiv1.Device, err error, t SlotType) (Found, error) {
	if err == nil && len(d) == 0 {
		err = ErrNoDevice
	}
	if err != nil {
		return Found{}, fmt.Errorf("slot_type %s: %w", t, err)
	}
	return Found{Devices: d}, nil
}

// detectGPUs tries NVIDIA, then AMD, and collects the errors.
func detectGPUs(ctx context.Context, o Options) Found {
	var f Found
	for _, look := range []func(context.Context, Options) ([]*apiv1.Device, error){detectCUDA, detectROCm} {
		d, err := look(ctx, o)
		if err != nil && !errors.Is(err, ErrNoTool) {
			f.Problems = append(f.Problems, err)
		}
		if err == nil && len(d) > 0 {
			f.Devices = d
			return f
		}
	}
	return f
}
