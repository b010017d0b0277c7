package podspec_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/master/policy"
)

// volume returns a pod spec with one volume.
func volume(source string) string { return `{"spec":{"volumes":[{"name":"x",` + source + `}]}}` }

// sidecar returns a pod spec with one more container.
func sidecar(s string) string {
	return `{"spec":{"containers":[{"name":"side","image":"side:1",` + s + `}]}}`
}

// Each of these would make an ordinary user the cluster's administrator, or another user.
func TestForeignObjectsAreRejected(t *testing.T) {
	t.Parallel()
	const order = "det-0a1b2c3d-0000-4000-8000-000000000000-1-1"
	for _, test := range []struct{ name, pod, want string }{
		{"the made passwords", volume(`"secret":{"secretName":"determined-secrets-lab"}`), "spec.volumes[x].secret.secretName: no task may use Secret determined-secrets-lab, which belongs to the cluster"},
		{"the master's configuration, projected", volume(`"projected":{"sources":[{"secret":{"name":"determined-master-config-lab"}}]}`), "spec.volumes[x].projected.sources[0].secret.name"},
		{"another task's order", volume(`"secret":{"secretName":"` + order + `"}`), "belongs to a task"},
		{"another task's order in a variable", sidecar(`"env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"` + order + `","key":"env.DET_SESSION_TOKEN"}}}]`), "spec.containers[side].env[A].valueFrom.secretKeyRef.name"},
		{"another task's order as variables", sidecar(`"envFrom":[{"secretRef":{"name":"` + order + `"}}]`), "spec.containers[side].envFrom[0].secretRef.name"},
		{"in the task's own container", `{"spec":{"containers":[{"name":"determined-container","envFrom":[{"secretRef":{"name":"determined-secrets-lab"}}]}]}}`, "envFrom[0].secretRef.name"},
		{"in an init container", `{"spec":{"initContainers":[{"name":"i","envFrom":[{"secretRef":{"name":"determined-secrets-lab"}}]}]}}`, "spec.initContainers[i].envFrom[0].secretRef.name"},
		{"another task's sign-in to a registry", `{"spec":{"imagePullSecrets":[{"name":"` + order + `-pull"}]}}`, "spec.imagePullSecrets[0].name"},
		{"the cluster's sign-in to a registry, as a file", volume(`"secret":{"secretName":"regcred"}`), "Secret regcred, which belongs to the cluster"},
		{"by a CSI driver", volume(`"csi":{"driver":"d","nodePublishSecretRef":{"name":"determined-secrets-lab"}}`), "spec.volumes[x].csi.nodePublishSecretRef.name"},
		{"by an option of a CSI driver", volume(`"csi":{"driver":"d","volumeAttributes":{"secretName":"determined-secrets-lab"}}`), "spec.volumes[x].csi.volumeAttributes[secretName]"},
		{"by Azure's files", volume(`"azureFile":{"secretName":"determined-secrets-lab","shareName":"x"}`), "spec.volumes[x].azureFile.secretName"},
		{"by iSCSI", volume(`"iscsi":{"targetPortal":"p","iqn":"i","lun":0,"secretRef":{"name":"determined-secrets-lab"}}`), "spec.volumes[x].iscsi.secretRef.name"},
		{"Helm's copy of the values", volume(`"secret":{"secretName":"sh.helm.release.v1.lab.v1"}`), "sh.helm.release.v1.lab.v1"},
		{"the installer's record", volume(`"secret":{"secretName":"det-deploy-record-lab"}`), "det-deploy-record-lab"},
		{"a Secret that the values name", volume(`"secret":{"secretName":"db-login"}`), "Secret db-login, which belongs to the cluster"},
		{"the database's volume", volume(`"persistentVolumeClaim":{"claimName":"determined-db-pvc-lab"}`), "spec.volumes[x].persistentVolumeClaim.claimName"},
		{"the master's volume", volume(`"persistentVolumeClaim":{"claimName":"determined-master-data-lab"}`), "determined-master-data-lab"},
		{"a volume of backups", volume(`"persistentVolumeClaim":{"claimName":"determined-backup-lab"}`), "determined-backup-lab"},
		{"the volume of all checkpoints", volume(`"persistentVolumeClaim":{"claimName":"trials"}`), "no task may use PersistentVolumeClaim or its snapshot trials, which belongs to the cluster"},
		{"a copy of the database's volume", volume(`"ephemeral":{"volumeClaimTemplate":{"spec":{"dataSource":{"kind":"PersistentVolumeClaim","name":"determined-db-pvc-lab"}}}}`), "dataSource.name"},
		{"a snapshot of the database", volume(`"ephemeral":{"volumeClaimTemplate":{"spec":{"dataSourceRef":{"apiGroup":"snapshot.storage.k8s.io","kind":"VolumeSnapshot","name":"determined-db-snapshot-v1"}}}}`), "dataSourceRef.name"},
		{"a former volume of all checkpoints", volume(`"persistentVolumeClaim":{"claimName":"determined-checkpoints-lab"}`), "determined-checkpoints-lab, which belongs to the cluster"},
		{"the master's account", `{"spec":{"serviceAccountName":"determined-master-lab"}}`, "spec.serviceAccountName: no task may use ServiceAccount determined-master-lab"},
		{"the master's account by its older field", `{"spec":{"serviceAccount":"determined-master-lab"}}`, "spec.serviceAccount: "},
		{"the database's account", `{"spec":{"serviceAccountName":"determined-db-lab","automountServiceAccountToken":true}}`, "determined-db-lab"},
		{"the priority of the cluster's own pods", `{"spec":{"priorityClassName":"determined-ml-lab"}}`, "spec.priorityClassName: no task may use PriorityClass determined-ml-lab, which belongs to the cluster"},
		{"an ephemeral container", `{"spec":{"ephemeralContainers":[{"name":"e","envFrom":[{"secretRef":{"name":"determined-secrets-lab"}}]}]}}`, "spec.ephemeralContainers must not be set"},
		{"a field written twice", `{"spec":{"serviceAccountName":"determined-master-lab","serviceAccountName":"trainer"}}`, `duplicate field "spec.serviceAccountName"`},
		{"a field in another case", `{"spec":{"volumes":[{"name":"x","secret":{"secretName":"determined-secrets-lab"}}],"Volumes":[]}}`, `unknown field "spec.Volumes"`},
		{"the label of the master's Service", `{"metadata":{"labels":{"app":"determined-master-lab"}}}`, "metadata.labels[app] must not be set"},
		{"the label of the release", `{"metadata":{"labels":{"app.kubernetes.io/instance":"lab"}}}`, "metadata.labels[app.kubernetes.io/instance] must not be set"},
		{"the label of a component", `{"metadata":{"labels":{"app.kubernetes.io/component":"master"}}}`, "the cluster's own pods are found by it"},
		{"the label of a part of the system", `{"metadata":{"labels":{"determined-system":"master"}}}`, "metadata.labels[determined-system]"},
		{"an annotation of ours", `{"metadata":{"annotations":{"det-deploy.dev/allocation":"x"}}}`, "metadata.annotations[det-deploy.dev/allocation]"},
		{"a directive in labels", `{"metadata":{"labels":{"$patch":"replace"}}}`, "metadata.labels[$patch]"},
		{"a directive in a node selector", `{"spec":{"nodeSelector":{"$patch":"replace"}}}`, "spec.nodeSelector[$patch]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := request(0, template()) // an administrator's: no policy
			r.Template.PullSecrets, r.Template.Protected = []string{"regcred"}, []string{"db-login", "determined-ml-lab"}
			r.Template.CheckpointClaim = "trials"
			r.PodSpec = []byte(test.pod)
			refused(t, podspec.Validate(r.Request, r.Template), "environment.pod_spec: ", test.want)
			_, err := podspec.Build(r)
			refused(t, err, test.want)
		})
	}
}

func TestOwnObjectsAreAccepted(t *testing.T) {
	t.Parallel()
	for _, pod := range []string{
		volume(`"secret":{"secretName":"wandb"}`), volume(`"persistentVolumeClaim":{"claimName":"determined-datasets"}`),
		`{"spec":{"serviceAccountName":"trainer","imagePullSecrets":[{"name":"regcred"}]}}`,
		`{"metadata":{"labels":{"app":"trainer","team":"a"}}}`, `{"spec":{"priorityClassName":"determined-medium-priority"}}`,
	} {
		r := request(0, template())
		r.Template.PullSecrets, r.PodSpec = []string{"regcred"}, []byte(pod)
		r.Policy = &apiv1.TaskPolicy{Root: true}
		if err := podspec.Validate(r.Request, r.Template); err != nil {
			t.Errorf("%s: got %v, want it allowed", pod, err)
		}
	}
}

// The other parts of a request are checked like an agent does.
func TestPodSpecIsCheckedAgainstPolicy(t *testing.T) {
	t.Parallel()
	const side = "environment.pod_spec: spec.containers[side]."
	for _, test := range []struct {
		name, pod, want string
		// allow is a policy that permits the request, or nil.
		allow *apiv1.TaskPolicy
	}{
		{"a host path", volume(`"hostPath":{"path":"/srv/data"}`), "spec.volumes[x].hostPath.path: /srv/data is not among", &apiv1.TaskPolicy{HostPaths: []*apiv1.TaskPolicy_HostPath{{Path: "/srv"}}}},
		{"the kubelet's directory", volume(`"hostPath":{"path":"/var/lib/kubelet/pods"}`), "not allowed for any task", nil},
		{"the root of the node", volume(`"hostPath":{"path":"/"}`), "not allowed for any task", nil},
		{"a privileged sidecar", sidecar(`"securityContext":{"privileged":true}`), side + "securityContext.privileged: ", &apiv1.TaskPolicy{Privileged: true}},
		{"a capability", sidecar(`"securityContext":{"capabilities":{"add":["SYS_ADMIN"]}}`), side + "securityContext.capabilities.add[SYS_ADMIN]", &apiv1.TaskPolicy{Capabilities: []string{"SYS_ADMIN"}}},
		{"the node's network", `{"spec":{"hostNetwork":true}}`, "spec.hostNetwork: ", &apiv1.TaskPolicy{HostNetwork: true}},
		{"a port of the node", sidecar(`"ports":[{"containerPort":80,"hostPort":80}]`), side + "ports[80].hostPort", &apiv1.TaskPolicy{HostNetwork: true}},
		{"a probe of another host", sidecar(`"livenessProbe":{"httpGet":{"host":"169.254.169.254","port":80}}`), side + "livenessProbe", &apiv1.TaskPolicy{HostNetwork: true}},
		{"the node's processes", `{"spec":{"hostPID":true}}`, "spec.hostPID: ", &apiv1.TaskPolicy{HostPid: true}},
		{"the node's shared memory", `{"spec":{"hostIPC":true}}`, "spec.hostIPC: ", &apiv1.TaskPolicy{HostIpc: true}},
		{"an unconfined container", sidecar(`"securityContext":{"seccompProfile":{"type":"Unconfined"}}`), side + "securityContext.seccompProfile", &apiv1.TaskPolicy{Privileged: true}},
		{"a kernel setting", `{"spec":{"securityContext":{"sysctls":[{"name":"kernel.msgmax","value":"1"}]}}}`, "spec.securityContext.sysctls[kernel.msgmax]", &apiv1.TaskPolicy{Privileged: true}},
		{"git on the node", volume(`"gitRepo":{"repository":"r"}`), "spec.volumes[x].gitRepo", &apiv1.TaskPolicy{Privileged: true}},
		{"a program of the node", volume(`"flexVolume":{"driver":"d"}`), "spec.volumes[x].flexVolume", &apiv1.TaskPolicy{Privileged: true}},
		{"an image", sidecar(`"command":["x"]`), side + "image: the image side:1", &apiv1.TaskPolicy{Images: []string{"side", "registry.test/task"}}},
		{"memory", sidecar(`"resources":{"limits":{"memory":"2Gi"}}`), side + "resources.limits[memory]", &apiv1.TaskPolicy{MaxMemory: 2 << 30}},
		{"memory as a file system", volume(`"emptyDir":{"medium":"Memory"}`), "spec.volumes[x].emptyDir.sizeLimit", &apiv1.TaskPolicy{}},
		{"a sidecar as root", sidecar(`"securityContext":{"runAsUser":0}`), side + "securityContext.runAsUser", &apiv1.TaskPolicy{Root: true}},
		{"a sidecar as whoever its image says", sidecar(`"command":["x"]`), side + "securityContext.runAsUser", &apiv1.TaskPolicy{Root: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := request(0, template())
			r.PodSpec = []byte(test.pod)
			// A policy that permits none of the requests.
			r.Policy = &apiv1.TaskPolicy{Images: []string{"registry.test/task"}, MaxMemory: 1 << 30, MaxShmSize: 4 << 30, Root: !strings.Contains(test.name, "sidecar as")}
			refused(t, podspec.Validate(r.Request, r.Template), "environment.pod_spec: ", test.want)
			r.Specs[0].Policy = r.Policy
			_, err := podspec.Build(r)
			refused(t, err, test.want)
			if test.allow == nil {
				r.Policy = nil
				refused(t, podspec.Validate(r.Request, r.Template), test.want)
				return
			}
			test.allow.Root = true
			for _, p := range []*apiv1.TaskPolicy{test.allow, nil} {
				r.Policy, r.Specs[0].Policy = p, p
				if _, err := podspec.Build(r); err != nil {
					t.Errorf("allowed by %v: got %v", p, err)
				}
			}
		})
	}
}

// The pod spec of the cluster's configuration does not count as a request of the task, and a task
// cannot extend it.
func TestPodSpecOfPoolIsNotCheckedAgainstTaskPolicy(t *testing.T) {
	t.Parallel()
	r := request(0, template())
	r.Template.CPUPodSpec = []byte(`{"spec":{"volumes":[{"name":"data","hostPath":{"path":"/srv/data"}}],
		"containers":[{"name":"determined-container","volumeMounts":[{"name":"data","mountPath":"/data","readOnly":true}]},
			{"name":"metrics","image":"metrics:1","securityContext":{"privileged":true}}]}}`)
	r.Policy = &apiv1.TaskPolicy{Images: []string{"registry.test/task"}}
	if err := podspec.Validate(r.Request, r.Template); err != nil {
		t.Errorf("got %v, want it allowed", err)
	}
	r.PodSpec = []byte(`{"spec":{"containers":[{"name":"determined-container","volumeMounts":[{"name":"data","mountPath":"/writable"}]}]}}`)
	refused(t, podspec.Validate(r.Request, r.Template), "environment.pod_spec: spec.volumes[data].hostPath.path")
	r.PodSpec = nil
	r.Template.CPUPodSpec = []byte(volume(`"hostPath":{"path":"/run/containerd/containerd.sock"}`))
	refused(t, podspec.Validate(r.Request, r.Template), "task_container_defaults.cpu_pod_spec: spec.volumes[x].hostPath.path", "not allowed for any task")
}

// A task of the highest class can preempt all other pods that its node does not need.
func TestOnlyAdministratorsTakeThePriorityOfTheSystem(t *testing.T) {
	t.Parallel()
	r := request(0, template())
	r.PodSpec = []byte(`{"spec":{"priorityClassName":"system-cluster-critical"}}`)
	if err := podspec.Validate(r.Request, r.Template); err != nil {
		t.Errorf("an administrator's: got %v, want it allowed", err)
	}
	r.Policy = &apiv1.TaskPolicy{Root: true, Privileged: true, HostNetwork: true}
	refused(t, podspec.Validate(r.Request, r.Template), "environment.pod_spec: spec.priorityClassName: the priority class system-cluster-critical")
	r.Template.CPUPodSpec = []byte(`{"spec":{"priorityClassName":"system-node-critical"}}`)
	refused(t, podspec.Validate(r.Request, r.Template), "system-cluster-critical")
	r.PodSpec = []byte(`{"spec":{"priorityClassName":"team-a-high"}}`)
	if err := podspec.Validate(r.Request, r.Template); err != nil {
		t.Errorf("a class of the cluster's users: got %v, want it allowed", err)
	}
}

func TestContainersGetMaximumMemory(t *testing.T) {
	t.Parallel()
	r := request(0, template())
	r.Specs[0].Policy = &apiv1.TaskPolicy{Root: true, MaxMemory: 3 << 30}
	o, err := podspec.Build(r)
	if err != nil {
		t.Fatal(err)
	}
	got := o.Job.Spec.Template.Spec.Containers[0].Resources
	if limit := got.Limits.Memory().String(); limit != "3Gi" || !got.Requests.Memory().IsZero() {
		t.Errorf("got %v, want a limit of 3Gi and nothing asked for", got)
	}
}

func TestPodsRunUnderTheTasksAccount(t *testing.T) {
	t.Parallel()
	r := request(0, template())
	r.Template.Account = "determined-task-lab"
	o, err := podspec.Build(r)
	if err != nil {
		t.Fatal(err)
	}
	s := o.Job.Spec.Template.Spec
	if s.ServiceAccountName != "determined-task-lab" || s.AutomountServiceAccountToken == nil || *s.AutomountServiceAccountToken {
		t.Errorf("got account %q with token %v, want determined-task-lab without", s.ServiceAccountName, s.AutomountServiceAccountToken)
	}
}

// A token grants access to Kubernetes, which only an administrator may give, in the resource pool's
// pod spec.
func TestTasksGetATokenOfAnAccountByThePoolOnly(t *testing.T) {
	t.Parallel()
	for field, spec := range map[string]string{
		"spec.automountServiceAccountToken":                     `{"spec":{"automountServiceAccountToken":true}}`,
		"spec.volumes[x].projected.sources.serviceAccountToken": volume(`"projected":{"sources":[{"serviceAccountToken":{"path":"token"}}]}`),
	} {
		r := request(0, template())
		r.PodSpec = []byte(spec)
		if err := podspec.Validate(r.Request, r.Template); err != nil {
			t.Errorf("an administrator's %s: got %v, want it allowed", field, err)
		}
		r.Policy = &apiv1.TaskPolicy{Root: true, Privileged: true}
		refused(t, podspec.Validate(r.Request, r.Template), "environment.pod_spec: "+field+": ", "only administrators")
		r.PodSpec, r.Template.CPUPodSpec = nil, []byte(spec)
		if err := podspec.Validate(r.Request, r.Template); err != nil {
			t.Errorf("the pool's %s: got %v, want it allowed", field, err)
		}
	}
}

// Kubernetes would mount the token of an account that a task names.
func TestAnAccountOfATasksChoiceBringsNoToken(t *testing.T) {
	t.Parallel()
	r := request(0, template())
	r.PodSpec = []byte(`{"spec":{"serviceAccountName":"reader"}}`)
	o, err := podspec.Build(r)
	if err != nil {
		t.Fatal(err)
	}
	s := o.Job.Spec.Template.Spec
	if mount := s.AutomountServiceAccountToken; s.ServiceAccountName != "reader" || mount == nil || *mount {
		t.Errorf("got account %q with token %v, want reader without", s.ServiceAccountName, mount)
	}
}

func TestNoContainerGainsRights(t *testing.T) {
	t.Parallel()
	r := request(0, template())
	r.PodSpec = []byte(`{"spec":{"initContainers":[{"name":"first","image":"i:1"}],"containers":[{"name":"side","image":"i:1"},
		{"name":"free","image":"i:1","securityContext":{"privileged":true}}]}}`)
	o, err := podspec.Build(r)
	if err != nil {
		t.Fatal(err)
	}
	s := o.Job.Spec.Template.Spec
	for _, c := range slices.Concat(s.InitContainers, s.Containers) {
		gains := c.SecurityContext.AllowPrivilegeEscalation
		if c.Name == "free" {
			if gains != nil {
				t.Errorf("%s: got %v, want nothing said: Kubernetes refuses both", c.Name, *gains)
			}
		} else if gains == nil || *gains {
			t.Errorf("%s: got %v, want false", c.Name, gains)
		}
	}
	r.PodSpec = []byte(`{"spec":{"containers":[{"name":"determined-container","securityContext":{"allowPrivilegeEscalation":true}}]}}`)
	r.Policy = &apiv1.TaskPolicy{Root: true}
	refused(t, podspec.Validate(r.Request, r.Template), "spec.containers[determined-container].securityContext.allowPrivilegeEscalation: ", "task_policy.privileged")
}

func TestCheckpointsAreNotInDataClaims(t *testing.T) {
	t.Parallel()
	r := request(0, template(), func(s *agentv1.Spec) {
		dir := policy.ClaimDirectory("determined-db-pvc-lab")
		s.Mounts = []*agentv1.Mount{{HostPath: dir, ContainerPath: "/determined_shared_fs", Storage: dir}}
	})
	_, err := podspec.Build(r)
	refused(t, err, "checkpoint_storage.host_path: no task may use the volume claim determined-db-pvc-lab")
}

func TestTasksMayNotMountClusterVolumes(t *testing.T) {
	t.Parallel()
	r := request(0, template())
	for _, list := range []string{"containers", "initContainers"} {
		r.PodSpec = []byte(`{"spec":{"` + list + `":[{"name":"side","image":"i:1","volumeMounts":[{"name":"determined-run","mountPath":"/mnt"}]}]}}`)
		refused(t, podspec.Validate(r.Request, r.Template), "spec."+list+"[side].volumeMounts[determined-run]")
	}
}
