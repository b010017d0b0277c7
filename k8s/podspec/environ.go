package podspec

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/rm"
)

const (
	runDir   = "/run/determined"
	hookPath = runDir + "/agent-startup-hook.sh"
	certPath = runDir + "/etc/ssl/master.crt"
	// indexVariable is appended by a Job to the variables of each pod. It is set here as the first
	// one, so that other variables can refer to it.
	indexVariable = "JOB_COMPLETION_INDEX"
)

// runHook runs the startup hook in the shell that then executes the program, as agents do: exported
// variables are inherited, and if a command of the hook fails, the task exits with its code.
const runHook = `s=/bin/sh; [ -x /bin/bash ] && s=/bin/bash; h=$1; shift; exec "$s" -c 'set -e; . "$0"; set +e; exec "$@"' "$h" "$@"`

// commonSpec returns the spec shared by all ranks. It replaces the container ID with an expression
// of the rank.
func commonSpec(a rm.AllocationID, specs []*agentv1.Spec) (*agentv1.Spec, error) {
	if len(specs) == 0 {
		return nil, fmt.Errorf("build the pods of %s: there is nothing to run", a)
	}
	var first *agentv1.Spec
	for rank, s := range specs {
		s = proto.CloneOf(s)
		for i, e := range s.GetEnvironment() {
			name, value, _ := strings.Cut(e, "=")
			if value == string(ContainerID(a, rank)) {
				s.Environment[i] = name + "=" + containerExpression(a)
			}
		}
		if rank == 0 {
			first = s
		} else if !proto.Equal(first, s) {
			return nil, fmt.Errorf("build the pods of %s: those of ranks 0 and %d differ, and the pods of a Job are alike", a, rank)
		}
	}
	return first, nil
}

func containerExpression(a rm.AllocationID) string {
	return containerPrefix(a) + "$(" + indexVariable + ")"
}

// escapeVariables escapes "$" as "$$", so that Kubernetes does not expand variables in a text.
func escapeVariables(s string) string {
	if !strings.Contains(s, "$(") && !strings.Contains(s, "$$") {
		return s
	}
	return strings.ReplaceAll(s, "$", "$$")
}

// setEnvironment sets the variables: defaults, then the pod spec's, then those that an agent would
// set, then the task's. The last value of a repeated name applies. All variables of the task are in
// its Secret, because any of them may be secret.
func (b *builder) setEnvironment() error {
	vars := variables{at: map[string]int{}}
	vars.setVariable(corev1.EnvVar{Name: indexVariable, ValueFrom: &corev1.EnvVarSource{
		FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + LabelIndex + "']"},
	}})
	for _, e := range b.defaultVariables() {
		vars.setVariable(e)
	}
	for _, e := range b.main.Env {
		vars.setVariable(e)
	}
	for _, e := range slices.Concat(b.addOwnVariables(), b.setPeers()) {
		vars.setVariable(e)
	}
	for i, e := range b.spec.GetEnvironment() {
		name, value, ok := strings.Cut(e, "=")
		if !ok || name == "" || strings.ContainsRune(e, 0) {
			return refuseField("environment.environment_variables", "%q must be NAME=value: a name alone takes its value from an agent, and a pod has none", name)
		}
		if value == containerExpression(b.request.Allocation) {
			vars.setVariable(corev1.EnvVar{Name: name, Value: value})
			continue
		}
		key := secretKey(name, i)
		b.data[key] = []byte(value)
		vars.setVariable(corev1.EnvVar{Name: name, ValueFrom: b.fromSecret(key)})
	}
	b.main.Env = vars.list
	b.dropUnused()
	return nil
}

// defaultVariables returns variables that the pod spec or the task may override. Python would
// buffer its output, and an account without an entry in the image has no home.
func (b *builder) defaultVariables() []corev1.EnvVar {
	out := []corev1.EnvVar{{Name: "PYTHONUNBUFFERED", Value: "1"}}
	if b.spec.GetUser().GetUid() != 0 && b.spec.GetWorkDir() != "" {
		out = append(out, corev1.EnvVar{Name: "HOME", Value: escapeVariables(b.spec.GetWorkDir())})
	}
	return out
}

// dropUnused removes the secret entries of variables that were overridden.
func (b *builder) dropUnused() {
	used := map[string]bool{}
	for _, e := range b.main.Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			used[e.ValueFrom.SecretKeyRef.Key] = true
		}
	}
	for key := range b.data {
		if !used[key] {
			delete(b.data, key)
		}
	}
}

func (b *builder) fromSecret(key string) *corev1.EnvVarSource {
	return &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: b.jobName()}, Key: key,
	}}
}

// secretKey returns the key of a variable in the Secret. Names that are not valid keys are
// numbered.
func secretKey(name string, i int) string {
	if regexp.MustCompile(`^[-._a-zA-Z0-9]{1,200}$`).MatchString(name) {
		return "env." + name
	}
	return "env-" + strconv.Itoa(i)
}

// variables is a list of variables with unique names.
type variables struct {
	list []corev1.EnvVar
	at   map[string]int
}

// setVariable replaces a variable in place, or appends it. The index stays first, because others
// refer to it.
func (v *variables) setVariable(e corev1.EnvVar) {
	if i, found := v.at[e.Name]; found {
		v.list[i] = e
		return
	}
	v.at[e.Name] = len(v.list)
	v.list = append(v.list, e)
}

// addOwnVariables returns the variables about the agent and the master that an agent would set.
func (b *builder) addOwnVariables() []corev1.EnvVar {
	t := b.request.Template
	m := t.Master
	plain := func(name, value string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, Value: escapeVariables(value)}
	}
	out := []corev1.EnvVar{
		plain("DET_MASTER", m.masterURL()), plain("DET_MASTER_ADDR", m.Host), plain("DET_MASTER_HOST", m.Host),
		plain("DET_MASTER_PORT", strconv.Itoa(m.Port)),
		plain("DET_CLUSTER_ID", t.ClusterID), plain("DET_MASTER_ID", t.MasterID),
		{Name: "DET_AGENT_ID", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
		{Name: "DET_CONTAINER_ID", Value: containerExpression(b.request.Allocation)},
		plain("DET_SLOT_IDS", slotIDs(b.slots)), plain("DET_USE_TLS", strconv.FormatBool(m.Scheme == "https")),
	}
	switch {
	case m.Scheme != "https":
	case m.NoVerify:
		out = append(out, plain("DET_MASTER_CERT_FILE", "noverify"))
	case len(m.CA) > 0:
		out = append(out, plain("DET_MASTER_CERT_FILE", certPath))
	}
	if m.CertName != "" {
		out = append(out, plain("DET_MASTER_CERT_NAME", m.CertName))
	}
	if !b.seesNVIDIA() {
		// Without this, a container whose image requests all GPUs sees all of them, whether or not
		// it has slots.
		out = append(out, plain("NVIDIA_VISIBLE_DEVICES", "void"), plain("CUDA_VISIBLE_DEVICES", ""))
	}
	return out
}

// seesNVIDIA reports whether the container has NVIDIA devices, through slots or resource claims in
// the pod spec.
func (b *builder) seesNVIDIA() bool {
	for name := range b.main.Resources.Limits {
		if strings.HasPrefix(string(name), "nvidia.com/") {
			return true
		}
	}
	return len(b.main.Resources.Claims) > 0
}

func (m Master) masterURL() string {
	return m.Scheme + "://" + net.JoinHostPort(m.Host, strconv.Itoa(m.Port))
}

// slotIDs returns a JSON list: a pod numbers its own slots from 0.
func slotIDs(n int) string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strconv.Itoa(i)
	}
	return "[" + strings.Join(ids, ",") + "]"
}

// hasMount reports whether the container has a mount at a path.
func hasMount(c *corev1.Container, at string) bool {
	return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == at })
}
