// Package detect finds the slots of a machine: its NVIDIA or AMD GPUs, or
// all of its cores as one slot, or any number of artificial ones. It asks the
// vendors' own tools and says what they answered when they fail.
package detect

import (
	"context"
	"errors"
	"fmt"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// SlotType says which devices become slots.
type SlotType string

// The slot types, as agent.yaml spells them.
const (
	// Auto takes NVIDIA GPUs, else AMD GPUs, else the CPU.
	Auto SlotType = "auto"
	// GPU takes NVIDIA GPUs, else AMD GPUs, and insists on finding one.
	GPU  SlotType = "gpu"
	CUDA SlotType = "cuda"
	ROCm SlotType = "rocm"
	CPU  SlotType = "cpu"
	// None makes an agent for auxiliary tasks only.
	None SlotType = "none"
)

// ErrNoDevice means that an explicit slot type found nothing.
var ErrNoDevice = errors.New("no such device on this machine")

// ErrNoTool is what a Runner returns for a program that is not installed.
var ErrNoTool = errors.New("program is not installed")

// Runner runs one program and returns what it wrote. It stands at the edge so
// that detection is tested from recorded answers.
type Runner func(ctx context.Context, name string, args ...string) (Output, error)

// Output is what a program left. Code is its exit code.
type Output struct {
	Stdout, Stderr []byte
	Code           int
}

// Options says what to look for.
type Options struct {
	SlotType SlotType
	// VisibleGPUs is a comma-separated list of indices or UUIDs, as in
	// CUDA_VISIBLE_DEVICES; empty shows all.
	VisibleGPUs string
	// ArtificialSlots, when positive, wins over SlotType.
	ArtificialSlots int
	// AgentID seeds the UUIDs of what has none of its own.
	AgentID string
	// CPUModel and Cores describe the processor.
	CPUModel string
	Cores    int
	Run      Runner
}

// Found is what a machine has.
type Found struct {
	Devices []*apiv1.Device
	// Problems are tools that are there and failed while SlotType did not
	// insist on them.
	Problems []error
}

// Devices looks for slots. A tool that is absent is no error with Auto; with
// an explicit slot type whatever goes wrong is.
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

// detectGPUs tries the vendors in turn and keeps what went wrong.
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
