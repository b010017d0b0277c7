package helm_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/helm"
)

// handed returns the document that the chart passes for values, including the few chart defaults
// that the master requires.
func handed(t *testing.T, values string) []byte {
	t.Helper()
	all := map[string]any{
		"maxSlotsPerPod": 8, "slotType": "gpu", "masterPort": 8080,
		"db":            map[string]any{"type": "postgres", "name": "determined", "user": "postgres", "port": 5432},
		"resourcePools": []any{map[string]any{"pool_name": "default"}},
		"observability": map[string]any{"enable_prometheus": true},
	}
	var given map[string]any
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		t.Fatal(err)
	}
	for k, v := range given {
		if over, ok := v.(map[string]any); ok && k == "db" {
			for k, v := range over {
				all["db"].(map[string]any)[k] = v
			}
			continue
		}
		all[k] = v
	}
	raw, err := json.Marshal(map[string]any{
		"values":  all,
		"release": map[string]any{"name": "lab", "namespace": "ml", "appVersion": "1.2.3", "image": "registry/det-deploy:1.2.3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func settings(t *testing.T, m config.Master) map[string]string {
	t.Helper()
	raw, err := document.MarshalWithSecrets(m)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	var root map[string]any
	if err := yaml.Unmarshal(raw, &root); err != nil {
		t.Fatal(err)
	}
	flatten(out, "", root)
	return out
}

func flatten(out map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			flatten(out, document.Join(path, k), e)
		}
	case []any:
		for i, e := range v {
			flatten(out, document.Index(path, i), e)
		}
	default:
		raw, _ := json.Marshal(v) // it was YAML
		out[path] = strings.Trim(string(raw), `"`)
	}
}

func TestMap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, values string
		want         map[string]string
		// absent are settings that keep their defaults.
		absent []string
	}{
		{name: "a host name for the pages of tasks", values: `{proxy: {origin: "https://*.services.example.com"}}`, want: map[string]string{
			"proxy.origin": "https://*.services.example.com",
		}},
		{name: "nothing but the slots", values: `{}`, want: map[string]string{
			"port": "8081", "db.type": "postgres", "db.host": "determined-db-service-lab", "db.password": "file:/run/determined/secrets/db-password",
			"security.initial_user_password":            "file:/run/determined/secrets/admin-password",
			"resource_manager.type":                     "kubernetes",
			"resource_manager.default_namespace":        "ml",
			"resource_manager.max_slots_per_pod":        "8",
			"resource_manager.master_service_name":      "determined-master-service-lab",
			"resource_manager.determined_master_scheme": "http",
			"resource_manager.determined_master_host":   "determined-master-service-lab.ml.svc.cluster.local",
			"resource_manager.determined_master_port":   "8080",
			"resource_manager.cluster_id":               "lab",
			"resource_manager.master_image":             "registry/det-deploy:1.2.3",
		}, absent: []string{"security.tls", "log.level", "checkpoint_storage.type", "resource_manager.slot_type", "security.initial_determined_password"}},
		{
			name: "CPU slots", values: `{slotType: cpu, slotResourceRequests: {cpu: 7.5}, maxSlotsPerPod: 1}`,
			want: map[string]string{"resource_manager.slot_type": "cpu", "resource_manager.slot_resource_requests.cpu": "7.5", "resource_manager.max_slots_per_pod": "1"},
		},
		{
			name: "slots of a part of a GPU", values: `{slotResource: nvidia.com/mig-1g.10gb}`,
			want: map[string]string{"resource_manager.slot_resource": "nvidia.com/mig-1g.10gb"},
		},
		{
			name: "the embedded database", values: `{db: {type: embedded, storageSize: 5Gi}}`,
			want: map[string]string{"db.type": "embedded"}, absent: []string{"db.host", "db.password", "db.user"},
		},
		{
			name:   "an external database with TLS",
			values: `{db: {hostAddress: db.example, port: 6432, name: d, user: u, passwordExistingSecret: {name: n, key: k}, sslMode: verify-full, sslRootCert: ca.pem, certResourceName: ca}}`,
			want: map[string]string{
				"db.host": "db.example", "db.port": "6432", "db.name": "d", "db.user": "u", "db.ssl_mode": "verify-full",
				"db.ssl_root_cert": "/etc/determined/db-ca/ca.pem", "db.password": "file:/etc/determined/given/db-password",
			},
		},
		{
			name:   "a wheel of the library",
			values: `{taskContainerDefaults: {harnessWheel: {configMap: wheels, file: determined-0.38.1-py3-none-any.whl, sha256: "` + strings.Repeat("0a", 32) + `"}}}`,
			want: map[string]string{
				"task_container_defaults.harness_wheel.file":   "/etc/determined/harness/determined-0.38.1-py3-none-any.whl",
				"task_container_defaults.harness_wheel.sha256": strings.Repeat("0a", 32),
			},
		},
		{
			name: "a password of digits", values: `{db: {password: 12345}}`,
			want: map[string]string{"db.password": "12345"},
		},
		{
			name: "a password that looks like a reference is a password", values: `{db: {password: "env:HOME"}}`,
			want: map[string]string{"db.password": "literal:env:HOME"},
		},
		{
			name: "the older name of the password", values: `{defaultPassword: Hunter2-older}`,
			want: map[string]string{"security.initial_user_password": "Hunter2-older"},
		},
		{
			name: "a password elsewhere", values: `{initialUserPasswordExistingSecret: {name: n, key: k}}`,
			want:   map[string]string{"security.initial_user_password": "file:/etc/determined/given/admin-password"},
			absent: []string{"security.initial_determined_password"},
		},
		{
			name: "each its own password", values: `{initialUserPassword: Hunter2-one, initialDeterminedPassword: Hunter2-two}`,
			want: map[string]string{"security.initial_user_password": "Hunter2-one", "security.initial_determined_password": "Hunter2-two"},
		},
		{
			name: "the password of determined elsewhere", values: `{initialDeterminedPasswordExistingSecret: {name: n, key: k}}`,
			want: map[string]string{
				"security.initial_user_password":       "file:/run/determined/secrets/admin-password",
				"security.initial_determined_password": "file:/etc/determined/given/determined-password",
			},
		},
		{
			name: "TLS in the master", values: `{tlsSecret: tls, masterPort: 8443}`,
			want: map[string]string{
				"security.tls.cert": "/etc/determined/tls/tls.crt", "security.tls.key": "/etc/determined/tls/tls.key",
				"resource_manager.determined_master_scheme": "https", "resource_manager.determined_master_port": "8443",
			},
		},
		{
			name: "an address of the user's", values: `{determinedMasterHost: det.example, determinedMasterPort: 443, determinedMasterScheme: https}`,
			want: map[string]string{
				"resource_manager.determined_master_scheme": "https", "resource_manager.determined_master_host": "det.example", "resource_manager.determined_master_port": "443",
			},
		},
		{
			name: "an explicit 0 stays 0", values: `{checkpointStorage: {type: shared_fs, saveExperimentBest: 0, saveTrialBest: 0, saveTrialLatest: 0}}`,
			want: map[string]string{
				"checkpoint_storage.type": "shared_fs", "checkpoint_storage.host_path": "/tmp/checkpoints",
				"checkpoint_storage.save_trial_best": "0", "checkpoint_storage.save_trial_latest": "0",
			},
		},
		{
			name: "a claim", values: `{checkpointStorage: {type: shared_fs, existingClaim: trials}}`,
			want: map[string]string{"checkpoint_storage.type": "shared_fs", "checkpoint_storage.host_path": "/determined/claims/trials"},
		},
		{
			name:   "S3",
			values: `{checkpointStorage: {type: s3, bucket: b, prefix: p, endpointUrl: "https://minio.example", accessKey: id, secretKeyExistingSecret: {name: n, key: k}}}`,
			want: map[string]string{
				"checkpoint_storage.type": "s3", "checkpoint_storage.bucket": "b", "checkpoint_storage.prefix": "p", "checkpoint_storage.endpoint_url": "https://minio.example",
				"checkpoint_storage.access_key": "id", "checkpoint_storage.secret_key": "file:/etc/determined/given/storage-secret-key",
			},
		},
		{
			name: "GCS", values: `{checkpointStorage: {type: gcs, bucket: b, saveTrialBest: 3}}`,
			want: map[string]string{"checkpoint_storage.type": "gcs", "checkpoint_storage.bucket": "b", "checkpoint_storage.save_trial_best": "3"},
		},
		{
			name: "Azure with a connection string", values: `{checkpointStorage: {type: azure, container: c, connection_string: s}}`,
			want: map[string]string{"checkpoint_storage.type": "azure", "checkpoint_storage.container": "c", "checkpoint_storage.connection_string": "s"},
		},
		{
			name: "Azure with an account", values: `{checkpointStorage: {type: azure, container: c, account_url: "https://a.example", credentialExistingSecret: {name: n, key: k}}}`,
			want: map[string]string{"checkpoint_storage.account_url": "https://a.example", "checkpoint_storage.credential": "file:/etc/determined/given/storage-credential"},
		},
		{
			name: "a directory", values: `{checkpointStorage: {type: directory, containerPath: /data}}`,
			want: map[string]string{"checkpoint_storage.type": "directory", "checkpoint_storage.container_path": "/data"},
		},
		{
			name: "tasks elsewhere", values: `{resourceManager: {defaultNamespace: tasks, clusterName: main}, imagePullSecretName: registry, defaultScheduler: preemption}`,
			want: map[string]string{
				"resource_manager.default_namespace": "tasks", "resource_manager.cluster_name": "main",
				"resource_manager.image_pull_secrets[0]": "registry", "resource_manager.image_pull_secret_dir": "/etc/determined/pull", "resource_manager.default_scheduler": "preemption",
			},
		},
		{
			name:   "pools",
			values: `{resourcePools: [{pool_name: a, task_container_defaults: {gpu_pod_spec: {spec: {nodeSelector: {gpu: a}}}}}, {pool_name: b}], defaultAuxResourcePool: a, defaultComputeResourcePool: b}`,
			want: map[string]string{
				"resource_pools[0].pool_name": "a", "resource_pools[1].pool_name": "b", "resource_manager.default_aux_resource_pool": "a", "resource_manager.default_compute_resource_pool": "b",
				"resource_pools[0].task_container_defaults.gpu_pod_spec.spec.nodeSelector.gpu": "a",
			},
		},
		{
			name:   "what tasks get",
			values: `{defaultImages: {cpuImage: c, gpuImage: g, rocmImage: r}, taskContainerDefaults: {gpuImage: own, networkMode: host, dtrainNetworkInterface: eth1, forcePullImage: true, startupHook: "true", shmSizeBytes: 1g, preemptionTimeout: 60, environmentVariables: [A=1], cpuPodSpec: {spec: {priorityClassName: p}}}}`,
			want: map[string]string{
				"task_container_defaults.image.cpu": "c", "task_container_defaults.image.cuda": "own", "task_container_defaults.image.rocm": "r",
				"task_container_defaults.network_mode": "host", "task_container_defaults.dtrain_network_interface": "eth1", "task_container_defaults.force_pull_image": "true",
				"task_container_defaults.startup_hook": "true", "task_container_defaults.shm_size_bytes": "1073741824", "task_container_defaults.preemption_timeout": "60",
				"task_container_defaults.environment_variables[0]": "A=1", "task_container_defaults.cpu_pod_spec.spec.priorityClassName": "p",
			},
		},
		{
			name:   "the only pool is the default pool",
			values: `{resourcePools: [{pool_name: gpu}]}`,
			want:   map[string]string{"resource_manager.default_aux_resource_pool": "gpu", "resource_manager.default_compute_resource_pool": "gpu"},
		},
		{
			name:   "what tasks may do",
			values: `{taskPolicy: {hostPaths: [/a, {path: /b, read_only: true}], capabilities: [SYS_PTRACE], devices: [/dev/fuse], privileged: false, hostNetwork: true, hostPid: true, hostIpc: true, root: false, images: [r/], maxShmSize: 1g, maxMemory: 2g, maxProcesses: 100, minPriority: 60, maxGracePeriod: 20m}, resourcePools: [{pool_name: default, task_policy: {root: true}}]}`,
			want: map[string]string{
				"task_policy.host_paths[0].path": "/a", "task_policy.host_paths[1].path": "/b", "task_policy.host_paths[1].read_only": "true", "task_policy.capabilities[0]": "SYS_PTRACE",
				"task_policy.devices[0]": "/dev/fuse", "task_policy.privileged": "false", "task_policy.host_network": "true", "task_policy.host_pid": "true",
				"task_policy.host_ipc": "true", "task_policy.root": "false", "task_policy.images[0]": "r/", "task_policy.max_shm_size": "1073741824",
				"task_policy.max_memory": "2147483648", "task_policy.max_processes": "100", "task_policy.min_priority": "60", "task_policy.max_grace_period": "1200", "resource_pools[0].task_policy.root": "true",
			},
		},
		{
			name:   "the master itself",
			values: `{logLevel: debug, logColor: false, clusterName: Lab, tensorboardTimeout: 60, notebookTimeout: 120, retentionPolicy: {logRetentionDays: -1}, observability: {enable_prometheus: false}, security: {defaultTask: {user: ml, uid: 1000, group: ml, gid: 1000}}}`,
			want: map[string]string{
				"log.level": "debug", "log.color": "false", "cluster_name": "Lab", "tensorboard_timeout": "60", "notebook_timeout": "120", "retention_policy.log_retention_days": "-1",
				"observability.enable_prometheus": "false", "security.default_task.user": "ml", "security.default_task.uid": "1000",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l, err := helm.Read(handed(t, tt.values), "values.yaml", nil)
			if err != nil {
				t.Fatal(err)
			}
			all := settings(t, l.Master)
			got := map[string]string{}
			for path := range tt.want {
				got[path] = all[path]
			}
			if diff := cmp.Diff(got, tt.want); diff != "" {
				t.Errorf("settings (-got +want):\n%s", diff)
			}
			for _, path := range tt.absent {
				if v, there := all[path]; there {
					t.Errorf("got %s: %s, want it left as it is", path, v)
				}
			}
		})
	}
}

func TestReadRejectsInvalidValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, values, want string }{
		{"a value that there is not", `{maxSlots: 3}`, "maxSlots: "},
		{"no slots in a pod", `{maxSlotsPerPod: 0}`, "values.yaml: maxSlotsPerPod: must be at least 1"},
		{"CPU slots without CPUs", `{slotType: cpu}`, "values.yaml: slotResourceRequests.cpu: must be more than 0 with slot_type cpu"},
		{"a gateway of tasks", `{resourceManager: {internalTaskGateway: {gatewayName: g}}}`, "resourceManager.internalTaskGateway: a gateway in front of tasks is not built yet"},
		{"a slot that is no extended resource", `{slotResource: mig-1g}`, "values.yaml: slotResource: must be the name of an extended resource"},
		{"an unknown scheduler", `{defaultScheduler: volcano}`, "values.yaml: defaultScheduler: must be one of"},
		{"a default pool that does not exist", `{defaultAuxResourcePool: x}`, `values.yaml: defaultAuxResourcePool: names no pool ("x")`},
		{"both forms of Azure", `{checkpointStorage: {type: azure, container: c, connection_string: s, account_url: u}}`, "checkpointStorage.connection_string: exactly one of"},
		{"a weak password", `{initialUserPassword: secret}`, "values.yaml: initialUserPassword: must have at least 8 characters"},
		{"a weak password of determined", `{initialDeterminedPassword: secret}`, "values.yaml: initialDeterminedPassword: must have at least 8 characters"},
		{"an external database without a user", `{db: {hostAddress: h, user: "", password: x}}`, "db.user: is required"},
		{"the enterprise edition", `{enterpriseEdition: true}`, "enterpriseEdition: the enterprise edition is not part of det-deploy; remove it"},
		{"SAML", `{saml: {enabled: true}}`, "saml: saml is not part of det-deploy"},
		{"an unknown setting of a pool", `{resourcePools: [{pool_name: default, kubernetes_namespace: x}]}`, "resourcePools[0].kubernetes_namespace"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := helm.Read(handed(t, tt.values), "values.yaml", nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestReadReportsAllErrorsOfTheValues(t *testing.T) {
	t.Parallel()
	_, err := helm.Read(handed(t, `{maxSlots: 3, maxSlotsPerPod: 0, logLevel: loud, saml: {enabled: true}, db: {port: x}}`), "values.yaml", nil)
	problems, _ := errors.AsType[document.Errors](err)
	var got []string
	for _, p := range problems {
		got = append(got, p.Path)
	}
	slices.Sort(got)
	if want := []string{"db.port", "logLevel", "maxSlots", "maxSlotsPerPod", "saml"}; !slices.Equal(got, want) {
		t.Errorf("got complaints about %v, want %v:\n%v", got, want, err)
	}
}

func TestDisabledPartsAreAccepted(t *testing.T) {
	t.Parallel()
	if _, err := helm.Read(handed(t, `{oidc: {enabled: false, provider: x}, scim: {enabled: null}, saml: {}, genai: null, enterpriseEdition: false}`), "values.yaml", nil); err != nil {
		t.Error(err)
	}
}

func TestFlagOverridesValueAndKeepsItsName(t *testing.T) {
	t.Parallel()
	given := []document.Given{{Path: "log.level", Value: "warn", Source: "--log-level"}}
	l, err := helm.Read(handed(t, `{logLevel: debug}`), "values.yaml", given)
	if err != nil || l.Master.Log.Level != "warn" {
		t.Errorf("got level %q, %v", l.Master.Log.Level, err)
	}
	given[0].Value = "loud"
	_, err = helm.Read(handed(t, `{}`), "values.yaml", given)
	if err == nil || !strings.Contains(err.Error(), "--log-level: log.level: must be one of") {
		t.Errorf("got %v", err)
	}
}

func TestUnbuiltSettingsAreNamedAsValues(t *testing.T) {
	t.Parallel()
	l, err := helm.Read(handed(t, `{logging: {type: elastic, host: h, port: 1}}`), "values.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := helm.Locate(l, config.Unbuilt(l.Master)); err == nil || !strings.Contains(err.Error(), "values.yaml: logging.type: storing task logs in Elasticsearch is not built yet") {
		t.Errorf("got %v", err)
	}
}

// A chart of the previous version generates only one password.
func TestGeneratedPasswordOfDetermined(t *testing.T) {
	t.Parallel()
	for _, made := range []bool{false, true} {
		d := helm.Document{Release: helm.Release{Name: "lab", Namespace: "ml", DeterminedPassword: made}}
		want := map[bool]string{true: "file:/run/determined/secrets/determined-password"}[made]
		got := ""
		if ref, ok := helm.Map(d).Security.DeterminedPassword.Ref(); ok {
			got = ref.String()
		}
		if got != want {
			t.Errorf("made %v: got %q, want %q", made, got, want)
		}
	}
}
