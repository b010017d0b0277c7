package agentv1

import (
	"encoding/json"
	"strings"
)

// clusterInfo has exactly the keys that the client library accepts.
type clusterInfo struct {
	MasterURL        string  `json:"master_url"`
	ClusterID        string  `json:"cluster_id"`
	AgentID          string  `json:"agent_id"`
	SlotIDs          []int32 `json:"slot_ids"`
	TaskID           string  `json:"task_id"`
	AllocationID     string  `json:"allocation_id"`
	SessionToken     string  `json:"session_token"`
	TaskType         string  `json:"task_type"`
	MasterCertName   *string `json:"master_cert_name"`
	MasterCertFile   *string `json:"master_cert_file"`
	LatestCheckpoint *string `json:"latest_checkpoint"`
}

// ClusterInfoVariables returns the variables that ClusterInfo reads.
func ClusterInfoVariables() []string {
	return []string{
		"DET_MASTER", "DET_CLUSTER_ID", "DET_AGENT_ID", "DET_SLOT_IDS", "DET_TASK_ID", "DET_ALLOCATION_ID",
		"DET_SESSION_TOKEN", "DET_TASK_TYPE", "DET_MASTER_CERT_NAME", "DET_MASTER_CERT_FILE", "DET_LATEST_CHECKPOINT",
	}
}

// ClusterInfo returns the content of the file from which programs learn where they run. It reads
// the task's environment, given as NAME=value; the last value of a name counts. The content
// includes the task's token.
func ClusterInfo(environ []string) []byte {
	given := func(name string) *string { return lastOf(environ, name) }
	text := func(name string) string {
		if v := given(name); v != nil {
			return *v
		}
		return ""
	}
	info := clusterInfo{
		MasterURL: text("DET_MASTER"), ClusterID: text("DET_CLUSTER_ID"), AgentID: text("DET_AGENT_ID"),
		TaskID: text("DET_TASK_ID"), AllocationID: text("DET_ALLOCATION_ID"),
		SessionToken: text("DET_SESSION_TOKEN"), TaskType: text("DET_TASK_TYPE"),
		MasterCertName: given("DET_MASTER_CERT_NAME"), MasterCertFile: given("DET_MASTER_CERT_FILE"),
		LatestCheckpoint: given("DET_LATEST_CHECKPOINT"),
	}
	if json.Unmarshal([]byte(text("DET_SLOT_IDS")), &info.SlotIDs) != nil || info.SlotIDs == nil {
		info.SlotIDs = []int32{} // a task may set its variables to anything
	}
	return mustContent(info)
}

// lastOf returns the last value of a variable, or nil if it is not set.
func lastOf(environ []string, name string) *string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, found := strings.CutPrefix(environ[i], name); found && (value == "" || value[0] == '=') {
			value = strings.TrimPrefix(value, "=")
			return &value
		}
	}
	return nil
}
