package detect

import (
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// card is a GPU as reported by the vendor's tool.
type card struct {
	index       int
	brand, uuid string
	// parts are the MIG instances of a partitioned GPU. They are slots in its place.
	parts []card
}

var (
	gpuLine = regexp.MustCompile(`^GPU (\d+): (.+) \(UUID: (GPU-[^)]+)\)\s*$`)
	migLine = regexp.MustCompile(`^\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[^)]+)\)\s*$`)
)

// detectCUDA runs nvidia-smi to list the GPUs and their MIG instances.
func detectCUDA(ctx context.Context, o Options) ([]*apiv1.Device, error) {
	out, err := runTool(ctx, o.Run, "nvidia-smi", "--query-gpu=index,name,uuid", "--format=csv,noheader")
	if err != nil {
		return nil, err
	}
	cards, err := parseQuery(out)
	if err != nil {
		return nil, fmt.Errorf("read nvidia-smi --query-gpu: %w", err)
	}
	out, err = runTool(ctx, o.Run, "nvidia-smi", "-L")
	if err != nil {
		return nil, err
	}
	if err := addParts(cards, out); err != nil {
		return nil, fmt.Errorf("read nvidia-smi -L: %w", err)
	}
	if cards, err = visibleOnly(cards, o.VisibleGPUs); err != nil {
		return nil, err
	}
	return cudaDevices(cards)
}

func parseQuery(out []byte) ([]card, error) {
	r := csv.NewReader(strings.NewReader(string(out)))
	r.TrimLeadingSpace = true
	r.FieldsPerRecord = 3
	rows, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	cards := make([]card, 0, len(rows))
	for _, row := range rows {
		index, err := strconv.Atoi(row[0])
		if err != nil || !strings.HasPrefix(row[2], "GPU-") {
			return nil, fmt.Errorf("invalid line %q: must be index, name, uuid", strings.Join(row, ", "))
		}
		cards = append(cards, card{index: index, brand: row[1], uuid: row[2]})
	}
	return cards, nil
}

// addParts parses the output of nvidia-smi -L, where MIG instances are indented below their GPU.
func addParts(cards []card, out []byte) error {
	var current *card
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\r\n")
		if m := gpuLine.FindStringSubmatch(line); m != nil {
			current = byUUID(cards, m[3])
			continue
		}
		m := migLine.FindStringSubmatch(line)
		if m == nil {
			if strings.TrimSpace(line) == "" {
				continue
			}
			return fmt.Errorf("invalid line %q: neither a GPU nor a MIG instance", line)
		}
		if current == nil {
			return fmt.Errorf("MIG instance %s belongs to an unknown GPU", m[3])
		}
		current.parts = append(current.parts, card{brand: current.brand + " MIG " + m[1], uuid: m[3]})
	}
	return nil
}

func byUUID(cards []card, uuid string) *card {
	for i := range cards {
		if cards[i].uuid == uuid {
			return &cards[i]
		}
	}
	return nil
}

// cudaDevices numbers GPUs by their index, as nvidia-smi does. With MIG, indices are not unique and
// slots are numbered in order.
func cudaDevices(cards []card) ([]*apiv1.Device, error) {
	var slots []card
	split := false
	for _, c := range cards {
		if len(c.parts) == 0 {
			slots = append(slots, c)
			continue
		}
		split = true
		slots = append(slots, c.parts...)
	}
	return newDevices(slots, apiv1.Device_TYPE_CUDA, split)
}

// newDevices returns the devices to announce to the master. It returns an error for duplicate or
// out-of-range IDs and UUIDs, which indicate a broken tool.
func newDevices(slots []card, t apiv1.Device_Type, renumber bool) ([]*apiv1.Device, error) {
	out := make([]*apiv1.Device, len(slots))
	ids, uuids := map[int]bool{}, map[string]bool{}
	for i, s := range slots {
		id := s.index
		if renumber {
			id = i
		}
		if id < 0 || id > math.MaxInt32 || ids[id] || uuids[s.uuid] {
			return nil, fmt.Errorf("device %d (%.100q): index out of range, or duplicate index or UUID", id, s.uuid)
		}
		ids[id], uuids[s.uuid] = true, true
		out[i] = &apiv1.Device{Id: int32(id), Brand: s.brand, Uuid: s.uuid, Type: t}
	}
	return out, nil
}
