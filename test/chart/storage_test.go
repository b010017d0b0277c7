package chart_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/det-deploy/det-deploy/master/config/helm"
)

// A master has no storage in a directory that Pod Security of the tasks' namespace forbids to
// mount: it creates a volume claim, or rejects experiments with an error, instead of pods that
// Kubernetes rejects.
func TestStorageFollowsPodSecurity(t *testing.T) {
	t.Parallel()
	const warning = "this cluster has no place for checkpoints"
	for values, want := range map[string]string{
		`{maxSlotsPerPod: 1}`: "/determined/claims/determined-checkpoints-lab",
		`{maxSlotsPerPod: 1, resourceManager: {podSecurity: restricted}}`:                                            "/determined/claims/determined-checkpoints-lab",
		`{maxSlotsPerPod: 1, checkpointStorage: {mountToServer: true}}`:                                              "none",
		`{maxSlotsPerPod: 1, checkpointStorage: {hostPath: /srv/c}, resourceManager: {podSecurity: baseline}}`:       "none",
		`{maxSlotsPerPod: 1, checkpointStorage: {existingClaim: trials}}`:                                            "/determined/claims/trials",
		`{maxSlotsPerPod: 1, checkpointStorage: {hostPath: /srv/c}}`:                                                 "/srv/c",
		`{maxSlotsPerPod: 1, resourceManager: {podSecurity: privileged}}`:                                            "/tmp/checkpoints",
		`{maxSlotsPerPod: 1, resourceManager: {podSecurity: privileged}, checkpointStorage: {storageSize: 1Ti}}`:     "/determined/claims/determined-checkpoints-lab",
		`{maxSlotsPerPod: 1, resourceManager: {defaultNamespace: jobs}, checkpointStorage: {storageClassName: nfs}}`: "/determined/claims/determined-checkpoints-lab",
		`{maxSlotsPerPod: 1, taskPolicy: {hostPaths: [/data]}}`:                                                      "/tmp/checkpoints",
		`{maxSlotsPerPod: 1, resourceManager: {defaultNamespace: jobs}}`:                                             "/tmp/checkpoints",
		`{maxSlotsPerPod: 1, checkpointStorage: {type: gcs, bucket: b}}`:                                             "b",
		`{maxSlotsPerPod: 1, checkpointStorage: {type: directory, containerPath: /c}}`:                               "/c",
		`{maxSlotsPerPod: 1, checkpointStorage: {type: gcs, bucket: b}, resourceManager: {podSecurity: restricted}}`: "b",
	} {
		files, err := render(t, release{name: "lab", namespace: "ml", values: parse(t, values)})
		if err != nil {
			t.Fatal(err)
		}
		var o struct{ Data map[string]string }
		if err := yaml.Unmarshal([]byte(files["determined/templates/config.yaml"]), &o); err != nil {
			t.Fatal(err)
		}
		doc, err := base64.StdEncoding.DecodeString(o.Data["values.yaml"])
		if err != nil {
			t.Fatal(err)
		}
		read, err := helm.Read(doc, "values.yaml", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		switch s := read.Master.CheckpointStorage; {
		case s == nil:
		case s.SharedFS != nil:
			got = s.SharedFS.HostPath
		case s.GCS != nil:
			got = s.GCS.Bucket
		case s.Directory != nil:
			got = s.Directory.ContainerPath
		}
		if makes := read.Master.ResourceManager.Kubernetes.CheckpointClaim != nil; makes != strings.Contains(got, "determined-checkpoints-") {
			t.Errorf("%s: got storage %s, and the master makes a claim: %v", values, got, makes)
		}
		if reads := strings.Contains(files["determined/templates/roles.yaml"], "resourceNames: [determined-checkpoints-lab]"); reads != strings.Contains(got, "determined-checkpoints-") {
			t.Errorf("%s: got storage %s, and the master's role lets it read the claim: %v", values, got, reads)
		}
		if got != want {
			t.Errorf("%s: got storage %s, want %s", values, got, want)
		}
		if notes := files["determined/templates/NOTES.txt"]; strings.Contains(notes, warning) != (want == "none") {
			t.Errorf("%s: got notes %s, want the warning %v", values, notes, want == "none")
		}
	}
}
