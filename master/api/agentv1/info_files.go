package agentv1

import (
	"encoding/json"
	"fmt"
)

// The files in which programs of the client's library learn where they run. These paths
// are fixed in the library, and so are the keys of each file: it takes no others.
const (
	InfoDir = "/run/determined/info"
	// ClusterInfoPath is where ClusterInfo goes, written by the agent or, in a pod, by the
	// init container.
	ClusterInfoPath = InfoDir + "/cluster.json"
	// ResourcesInfoPath is where ResourcesInfo goes, written by the same. A pod with GPUs
	// has none: only its container itself sees which it got.
	ResourcesInfoPath = InfoDir + "/resources.json"
	// TrialInfoPath is where TrialInfo.Content goes. It is one of the files of a Spec.
	TrialInfoPath = InfoDir + "/trial.json"
	// RendezvousInfoPath is where RendezvousInfo goes, one of the files of a Spec where
	// the allocation has a single container. Several ask the master.
	RendezvousInfoPath = InfoDir + "/rendezvous.json"
)

// TrialInfo is what a trial's program learns about its trial.
type TrialInfo struct {
	TrialID      int   `json:"trial_id"`
	ExperimentID int   `json:"experiment_id"`
	TrialSeed    int64 `json:"trial_seed"`
	// HParams and Config are JSON objects: the trial's hyperparameters, and the
	// experiment's configuration with all defaults filled in.
	HParams        json.RawMessage `json:"hparams"`
	Config         json.RawMessage `json:"config"`
	StepsCompleted int64           `json:"steps_completed"`
	TrialRunID     int             `json:"trial_run_id"`
	Debug          bool            `json:"debug"`
	// NetworkInterface is for traffic between machines; nil lets the program choose.
	NetworkInterface *string `json:"inter_node_network_interface"`
}

// Content is the file. The error is of HParams or Config that are not JSON.
func (t TrialInfo) Content() ([]byte, error) {
	data, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("write %s of trial %d: %w", TrialInfoPath, t.TrialID, err)
	}
	return append(data, '\n'), nil
}

// RendezvousInfo is where the containers of an allocation find each other: their
// addresses and numbers of slots by rank, and the rank of the one that reads it.
func RendezvousInfo(addresses []string, rank int, slots []int) []byte {
	return mustContent(struct {
		Addresses []string `json:"container_addrs"`
		Rank      int      `json:"container_rank"`
		Slots     []int    `json:"container_slot_counts"`
	}{addresses, rank, slots})
}

// ResourcesInfo is the GPUs of a container.
func ResourcesInfo(uuids []string) []byte {
	return mustContent(struct {
		UUIDs []string `json:"gpu_uuids"`
	}{append([]string{}, uuids...)})
}

// mustContent writes texts and numbers, which cannot fail.
func mustContent(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return append(data, '\n')
}
