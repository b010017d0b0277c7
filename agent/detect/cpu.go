package detect

import (
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// detectCPU returns one slot for all cores, so that a task on a machine without GPUs gets the whole
// machine.
func detectCPU(o Options) []*apiv1.Device {
	return []*apiv1.Device{{
		Brand: fmt.Sprintf("%s x %d cores", orUnknown(o.CPUModel), max(o.Cores, 1)),
		Uuid:  derivedUUID(o.AgentID, "cpu"),
		Type:  apiv1.Device_TYPE_CPU,
	}}
}

// artificialSlots returns n fake slots for tests and load generation.
func artificialSlots(agentID string, n int) []*apiv1.Device {
	out := make([]*apiv1.Device, n)
	for i := range out {
		out[i] = &apiv1.Device{
			Id:    int32(i),
			Brand: "Artificial",
			Uuid:  derivedUUID(agentID, fmt.Sprintf("artificial %d", i)),
			Type:  apiv1.Device_TYPE_CPU,
		}
	}
	return out
}

// derivedUUID returns a UUID that depends only on the agent ID and the name, so that it survives
// restarts.
func derivedUUID(agentID, name string) string {
	sum := sha256.Sum256([]byte(agentID + "\x00" + name))
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 0x80 // version 8: custom
	id[8] = id[8]&0x3f | 0x80 // the standard variant
	return id.String()
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown CPU"
	}
	return s
}
