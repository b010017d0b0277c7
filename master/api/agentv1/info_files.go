package agentv1

import (
	"encoding/json"
	"fmt"
)

// The files from which the client library learns where it runs. The library fixes these paths and
// the keys of each file, and rejects other keys.
const (
	InfoDir = "/run/determined/info"
	// ClusterInfoPath is the file for ClusterInfo, written by the agent or, in a pod, by the init
	// container.
	ClusterInfoPath = InfoDir + "/cluster.json"
	// ResourcesInfoPath is the file for ResourcesInfo, written in the same way. A pod with GPUs
	// does not have it, because only the container itself sees its GPUs.
	ResourcesInfoPath = InfoDir + "/resources.json"
	// TrialInfoPath is the file for TrialInfo.Content, one of the files of a Spec.
	TrialInfoPath = InfoDir + "/trial.json"
	// RendezvousInfoPath is the file for RendezvousInfo, one of the files of a Spec if the
	// allocation has a single container. Several containers request it from the master.
	RendezvousInfoPath = InfoDir + "/rendezvous.json"
)

// TrialInfo is the information for a trial's program about its trial.
type TrialInfo struct {
	TrialID      int   `json:"trial_id"`
	ExperimentID int   `json:"experiment_id"`
	TrialSeed    int64 `json:"trial_seed"`
	// HParams and Config are JSON objects: the trial's hyperparameters, and the experiment's
	// configuration with all defaults.
	HParams        json.RawMessage `json:"hparams"`
	Config         json.RawMessage `json:"config"`
	StepsCompleted int64           `json:"steps_completed"`
	TrialRunID     int             `json:"trial_run_id"`
	Debug          bool            `json:"debug"`
	// NetworkInterface is the interface for traffic between machines; nil lets the program choose.
	NetworkInterface *string `json:"inter_node_network_interface"`
}

// Content returns the content of the file. It returns an error if HParams or Config is not JSON.
func (t TrialInfo) Content() ([]byte, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("write %s of trial %d: %w", TrialInfoPath, t.TrialID, err)
	}
	return append(data, '\n'), nil
}

// RendezvousInfo returns the addresses and slot counts of an allocation's containers by rank, with
// the rank of the reader.
func RendezvousInfo(addresses []string, rank int, slots []int) []byte {
	return mustContent(struct {
		Addresses []string `json:"container_addrs"`
		Rank      int      `json:"container_rank"`
		Slots     []int    `json:"container_slot_counts"`
	}{addresses, rank, slots})
}

// ResourcesInfo returns the GPUs of a container.
func ResourcesInfo(uuids []string) []byte {
	return mustContent(struct {
		UUIDs []string `json:"gpu_uuids"`
	}{append([]string{}, uuids...)})
}

// mustContent encodes strings and numbers, which never fails.
func mustContent(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append(data, '\n')
}
