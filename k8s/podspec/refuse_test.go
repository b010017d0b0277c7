package podspec_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

func TestReservedFieldsAreRefused(t *testing.T) {
	t.Parallel()
	main := func(s string) string { return `{"spec":{"containers":[{"name":"determined-container",` + s + `}]}}` }
	initial := func(s string) string {
		return `{"spec":{"initContainers":[{"name":"determined-init-container",` + s + `}]}}`
	}
	tolerates := func(s string) string { return `{"spec":{"tolerations":[{` + s + `}]}}` }
	for _, test := range []struct{ name, pod, want string }{
		{"no pod", `[]`, "is not a Pod of Kubernetes"},
		{"a spec that is no pod", `{"containers":[]}`, `unknown field "containers"`},
		{"a word nobody knows", `{"spec":{"nodeSelektor":{}}}`, `unknown field "spec.nodeSelektor"`},
		{"another kind", `{"kind":"Job"}`, "kind must be Pod"},
		{"a name", `{"metadata":{"name":"x"}}`, "metadata.name must not be set"},
		{"a namespace", `{"metadata":{"namespace":"x"}}`, "metadata.namespace must not be set"},
		{"our label", `{"metadata":{"labels":{"determined":"x"}}}`, "metadata.labels[determined] must not be set"},
		{"a label with our prefix", `{"metadata":{"labels":{"determined.ai/user":"x"}}}`, "metadata.labels[determined.ai/user]"},
		{"the Job's label", `{"metadata":{"labels":{"batch.kubernetes.io/job-name":"x"}}}`, "annotations that begin with batch.kubernetes.io/"},
		{"our annotation", `{"metadata":{"annotations":{"det-deploy.dev/x":"x"}}}`, "metadata.annotations[det-deploy.dev/x]"},
		{"a restart policy", `{"spec":{"restartPolicy":"Always"}}`, "spec.restartPolicy must be Never"},
		{"a gate", `{"spec":{"schedulingGates":[{"name":"x"}]}}`, "spec.schedulingGates must not be set"},
		{"a node", `{"spec":{"nodeName":"x"}}`, "spec.nodeName must not be set"},
		{"a scheduler beside the cluster's", `{"spec":{"schedulerName":"x"}}`, "spec.schedulerName must be coscheduler"},
		{"a host name", `{"spec":{"hostname":"x"}}`, "spec.hostname must not be set"},
		{"a user", `{"spec":{"securityContext":{"runAsUser":1}}}`, "spec.securityContext.runAsUser must not be set"},
		{"a volume with our prefix", `{"spec":{"volumes":[{"name":"determined-files"}]}}`, "spec.volumes[determined-files] must have another name"},
		{"an init container with our prefix", `{"spec":{"initContainers":[{"name":"determined-x"}]}}`, "must have another name"},
		{"our init container's image", initial(`"image":"x"`), "spec.initContainers[determined-init-container].image must not be set"},
		{"our init container's command", initial(`"command":["x"]`), "spec.initContainers[determined-init-container].command must not be set"},
		{"our init container's files", initial(`"volumeMounts":[{"name":"x","mountPath":"/run/determined-order/"}]`), "volumeMounts[/run/determined-order/] must not be set"},
		{"our init container's user", initial(`"securityContext":{"runAsUser":1}`), "securityContext must not set runAsUser"},
		{"our init container's mount without a volume", initial(`"volumeMounts":[{"name":"x","mountPath":"/x"}]`), "spec.initContainers[determined-init-container].volumeMounts[x] names a volume"},
		{"a mount without a volume", main(`"volumeMounts":[{"name":"data","mountPath":"/data"}]`), "spec.containers[determined-container].volumeMounts[data] names a volume that spec.volumes does not have"},
		{"a block device without a volume", main(`"volumeDevices":[{"name":"data","devicePath":"/dev/x"}]`), "volumeDevices[data] names a volume"},
		{"a toleration of all taints of a value", tolerates(`"value":"x"`), "spec.tolerations[0].operator must be Exists"},
		{"a toleration with a value too many", tolerates(`"key":"x","operator":"Exists","value":"x"`), "spec.tolerations[0].value must not be set"},
		{"a toleration for a while", tolerates(`"key":"x","effect":"NoSchedule","tolerationSeconds":1`), "spec.tolerations[0].effect must be NoExecute"},
		{"a toleration of no effect", tolerates(`"key":"x","effect":"NoRun"`), `spec.tolerations[0].effect must be NoSchedule, PreferNoSchedule or NoExecute ("NoRun")`},
		{"a toleration with an unknown operator", tolerates(`"key":"x","operator":"In"`), `spec.tolerations[0].operator must be Equal or Exists ("In")`},
		{"a toleration of no label", tolerates(`"key":"a b"`), `spec.tolerations[0].key must be a label name ("a b")`},
		{"a toleration of no value", tolerates(`"key":"x","value":"a b"`), `spec.tolerations[0].value must be a label value ("a b")`},
		{"an image", main(`"image":"x"`), "image must not be set: it is environment.image"},
		{"a command", main(`"command":["x"]`), "command must not be set: it is the task's entrypoint"},
		{"arguments", main(`"args":["x"]`), "args must not be set"},
		{"a work directory", main(`"workingDir":"/x"`), "it is work_dir"},
		{"a variable of ours", main(`"env":[{"name":"DET_MASTER","value":"x"}]`), "env[DET_MASTER] must not be set"},
		{"our directory", main(`"volumeMounts":[{"name":"x","mountPath":"/run/determined"}]`), "the cluster puts its own files there"},
		{"slots", main(`"resources":{"limits":{"nvidia.com/gpu":"1"}}`), "it is resources.slots"},
		{"the container's group", main(`"securityContext":{"runAsGroup":1}`), "securityContext.runAsGroup must not be set"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := request(0, template())
			r.Template.Scheduler = podspec.Coscheduler
			r.PodSpec = []byte(test.pod)
			_, err := podspec.Build(r)
			refused(t, err, "environment.pod_spec: ", test.want)
			if verr := podspec.Validate(r.Request, r.Template); verr == nil || verr.Error() != err.Error() {
				t.Errorf("on submission: got %v, want %v", verr, err)
			}
		})
	}
}

func refused(t *testing.T, err error, wants ...string) {
	t.Helper()
	if _, is := errors.AsType[*podspec.Refusal](err); !is {
		t.Fatalf("got %v, want an error", err)
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q in it", err, want)
		}
	}
}

func TestImpossiblePodSettingsAreRejected(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		edit func(*agentv1.Spec)
		want string
	}{
		{"a network of Docker's", func(s *agentv1.Spec) { s.NetworkMode = "container:x" }, "network_mode: is \"container:x\""},
		{"a device of the node", func(s *agentv1.Spec) { s.Devices = []*agentv1.HostDevice{{HostPath: "/dev/x"}} }, "resources.devices: /dev/x: a pod gets a device"},
		{"mounts that reach the node", func(s *agentv1.Spec) {
			s.Mounts = []*agentv1.Mount{{HostPath: "/x", ContainerPath: "/x", Propagation: "rshared"}}
		}, "rshared needs a privileged pod"},
		{"a propagation nobody knows", func(s *agentv1.Spec) {
			s.Mounts = []*agentv1.Mount{{HostPath: "/x", ContainerPath: "/x", Propagation: "shared"}}
		}, "pods know rprivate, rslave and rshared"},
		{"a mount over our directory", func(s *agentv1.Spec) {
			s.Mounts = []*agentv1.Mount{{HostPath: "/x", ContainerPath: "/run/determined/"}}
		}, "bind_mounts: /run/determined: something else is mounted there"},
		{"two mounts at one place", func(s *agentv1.Spec) {
			s.Mounts = []*agentv1.Mount{{HostPath: "/x", ContainerPath: "/x"}, {HostPath: "/y", ContainerPath: "/x"}}
		}, "something else is mounted there"},
		{"a port that is none", func(s *agentv1.Spec) { s.Ports = []*agentv1.Port{{Port: 70000}} }, "port 70000 must be between 1 and 65535"},
		{"a variable without a value", func(s *agentv1.Spec) { s.Environment = append(s.Environment, "HOME") }, "\"HOME\" must be NAME=value"},
		{"a registry's own token", func(s *agentv1.Spec) { s.RegistryAuth = &agentv1.RegistryAuth{IdentityToken: "x"} }, "identitytoken and registrytoken are not for pods"},
		{"files at the top", func(s *agentv1.Spec) { s.WorkDir, s.Context = "/", true }, "work_dir: files cannot be put into /"},
		{"a directory of the image's", func(s *agentv1.Spec) { s.Files = append(s.Files, &apiv1.File{Path: "/etc", Type: '5'}) }, "/etc: would hide what the image has there"},
		{"a device as a file", func(s *agentv1.Spec) { s.Files = append(s.Files, &apiv1.File{Path: "/x/y", Type: '3'}) }, "only files, directories and symbolic links"},
		{"more than a Secret holds", func(s *agentv1.Spec) { s.Environment = append(s.Environment, "X="+strings.Repeat("x", 1<<20)) }, "a Secret holds at most 1000000"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := podspec.Build(request(0, template(), test.edit))
			refused(t, err, test.want)
		})
	}
}

func TestSlotsThatCannotBeDividedAreRefused(t *testing.T) {
	t.Parallel()
	_, err := podspec.Build(request(12, template()))
	refused(t, err, "resources.slots: 12 slots cannot be divided")
	none := template()
	none.MaxSlotsPerPod = 0
	_, err = podspec.Build(request(1, none))
	refused(t, err, "max_slots_per_pod is 0")
	single := request(16, template())
	single.SingleNode = true
	_, err = podspec.Build(single)
	refused(t, err, "on a single node")
}

func TestRootIsRefusedWhereAPodMustNotBeRoot(t *testing.T) {
	t.Parallel()
	r := request(0, template())
	r.PodSpec = []byte(`{"spec":{"securityContext":{"runAsNonRoot":true}}}`)
	_, err := podspec.Build(r)
	refused(t, err, "runAsNonRoot: the task's user runs as root")
}

func TestRanksThatDifferAreAMistake(t *testing.T) {
	t.Parallel()
	r := request(16, template())
	r.Specs[1].Environment = append(r.Specs[1].Environment, "MINE=another")
	if _, err := podspec.Build(r); err == nil || !strings.Contains(err.Error(), "ranks 0 and 1 differ") {
		t.Errorf("got %v, want that the ranks differ", err)
	}
}

func TestDraftMatchesBuild(t *testing.T) {
	t.Parallel()
	for _, row := range rows() {
		o, err := podspec.Build(row.of)
		if err != nil {
			t.Fatal(err)
		}
		draft, err := podspec.Draft(row.of.Request, row.of.Template)
		if err != nil {
			t.Fatal(err)
		}
		built := o.Job.Spec.Template.Spec
		if got, want := place(t, draft), place(t, &built); got != want {
			t.Errorf("%s: the draft is\n%s\nand the pod\n%s", row.name, got, want)
		}
	}
}

func place(t *testing.T, s *corev1.PodSpec) string {
	t.Helper()
	p, err := gangPod(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
