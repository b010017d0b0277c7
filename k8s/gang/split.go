package gang

import (
	"errors"
	"fmt"
)

// Split returns the number of pods of a task and the slots of each. The error is a sentence for the
// task's owner.
func Split(slots, maxPerPod int, singleNode bool) (pods, perPod int, err error) {
	switch {
	case slots < 0:
		return 0, 0, fmt.Errorf("slots must be at least 0 (is %d)", slots)
	case slots == 0:
		return 1, 0, nil
	case maxPerPod <= 0:
		return 0, 0, errors.New("this cluster has no slots: its max_slots_per_pod is 0")
	case slots <= maxPerPod:
		return 1, slots, nil
	case singleNode:
		return 0, 0, fmt.Errorf("%d slots on a single node are more than a pod may have (max_slots_per_pod is %d)", slots, maxPerPod)
	case slots%maxPerPod != 0:
		return 0, 0, fmt.Errorf("%d slots cannot be divided into equal pods of max_slots_per_pod %d; ask for %d or %d",
			slots, maxPerPod, slots-slots%maxPerPod, slots-slots%maxPerPod+maxPerPod)
	}
	return slots / maxPerPod, maxPerPod, nil
}
