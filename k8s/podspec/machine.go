package podspec

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
	"github.com/det-deploy/det-deploy/master/policy"
)

// setSecurity sets the user of the program and its privileges.
func (b *builder) setSecurity() error {
	c := b.main.SecurityContext
	if c == nil {
		c = &corev1.SecurityContext{}
		b.main.SecurityContext = c
	}
	uid, gid := b.setAccount()
	c.RunAsUser, c.RunAsGroup = &uid, &gid
	if uid == 0 && (isTrue(c.RunAsNonRoot) || b.pod.Spec.SecurityContext != nil && isTrue(b.pod.Spec.SecurityContext.RunAsNonRoot)) {
		return refuseField("environment.pod_spec", "securityContext.runAsNonRoot: the task's user runs as root; link an account to it with `det user link-with-agent-user`, or set security.default_task in the master's configuration")
	}
	add, drop := capabilityNames(b.spec.GetAddCapabilities()), capabilityNames(b.spec.GetDropCapabilities())
	if len(add)+len(drop) > 0 {
		if c.Capabilities == nil {
			c.Capabilities = &corev1.Capabilities{}
		}
		c.Capabilities.Add = addCapabilities(c.Capabilities.Add, add)
		c.Capabilities.Drop = addCapabilities(c.Capabilities.Drop, drop)
	}
	if uid != 0 {
		restrictContainer(b.pod.Spec.SecurityContext, c)
	}
	s := &b.pod.Spec
	s.RestartPolicy = corev1.RestartPolicyNever
	if s.TerminationGracePeriodSeconds == nil {
		s.TerminationGracePeriodSeconds = new(int64(grace))
	}
	if s.ServiceAccountName == "" && s.DeprecatedServiceAccount == "" {
		s.ServiceAccountName = b.request.Template.Account
	}
	if s.AutomountServiceAccountToken == nil {
		// Also for a service account that the task names; Kubernetes would mount its token.
		s.AutomountServiceAccountToken = new(false)
	}
	if s.EnableServiceLinks == nil {
		s.EnableServiceLinks = new(false)
	}
	if s.SchedulerName == "" {
		s.SchedulerName = b.request.Template.Scheduler
	}
	return nil
}

// restrictContainer makes a container that does not run as root conform to the Pod Security level
// restricted, unless its pod spec sets otherwise. Such a program has no capabilities anyway.
func restrictContainer(pod *corev1.PodSecurityContext, c *corev1.SecurityContext) {
	if isTrue(c.Privileged) {
		return
	}
	if c.RunAsNonRoot == nil {
		c.RunAsNonRoot = new(true)
	}
	if c.SeccompProfile == nil && (pod == nil || pod.SeccompProfile == nil) {
		c.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	if c.Capabilities == nil {
		c.Capabilities = &corev1.Capabilities{}
	}
	if len(c.Capabilities.Add) == 0 {
		c.Capabilities.Drop = addCapabilities(c.Capabilities.Drop, []corev1.Capability{"ALL"})
	}
}

// confinePod disables privilege escalation by setuid programs in every container that is not
// privileged.
func confinePod(s *corev1.PodSpec) {
	for _, c := range containersOf(s) {
		if c.SecurityContext == nil {
			c.SecurityContext = &corev1.SecurityContext{}
		}
		sc := c.SecurityContext
		if sc.AllowPrivilegeEscalation == nil && !isTrue(sc.Privileged) && !administersSystem(sc.Capabilities) {
			sc.AllowPrivilegeEscalation = new(false)
		}
	}
}

// administersSystem reports whether a container has a capability with which Kubernetes rejects
// allowPrivilegeEscalation=false.
func administersSystem(c *corev1.Capabilities) bool {
	return c != nil && slices.ContainsFunc(c.Add, func(name corev1.Capability) bool {
		n := policy.Capability(string(name))
		return n == "SYS_ADMIN" || n == "ALL"
	})
}

func (b *builder) setAccount() (uid, gid int64) {
	u := b.spec.GetUser()
	return int64(u.GetUid()), int64(u.GetGid())
}

func isTrue(b *bool) bool { return b != nil && *b }

// isPrivileged reports whether the pod spec makes the container privileged.
func (b *builder) isPrivileged() bool {
	return b.main.SecurityContext != nil && isTrue(b.main.SecurityContext.Privileged)
}

// capabilityNames returns the names in Kubernetes' format, without the prefix CAP_.
func capabilityNames(names []string) []corev1.Capability {
	var out []corev1.Capability
	for _, n := range names {
		out = append(out, corev1.Capability(strings.TrimPrefix(strings.ToUpper(n), "CAP_")))
	}
	return out
}

func addCapabilities(a, b []corev1.Capability) []corev1.Capability {
	for _, c := range b {
		if !slices.Contains(a, c) {
			a = append(a, c)
		}
	}
	return a
}

// setNetwork sets the pod's network, which is the cluster's or its node's, and its ports.
func (b *builder) setNetwork() error {
	s := &b.pod.Spec
	switch mode := b.spec.GetNetworkMode(); mode {
	case "", "bridge", "default":
	case "host":
		s.HostNetwork = true
	default:
		return refuseField("task_container_defaults.network_mode", "is %q; a pod has the cluster's network (bridge) or its node's (host)", mode)
	}
	if s.HostNetwork && s.DNSPolicy == "" {
		// Otherwise a pod on its node's network uses the node's name servers, which cannot resolve
		// the master's Service.
		s.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	}
	for _, p := range b.spec.GetPorts() {
		if p.GetPort() < 1 || p.GetPort() > 65535 {
			return refuseField("environment.ports", "port %d must be between 1 and 65535", p.GetPort())
		}
		if slices.ContainsFunc(b.main.Ports, func(o corev1.ContainerPort) bool { return o.ContainerPort == p.GetPort() }) {
			continue
		}
		port := corev1.ContainerPort{ContainerPort: p.GetPort(), Protocol: corev1.ProtocolTCP}
		if s.HostNetwork {
			port.HostPort = port.ContainerPort
		}
		if len(validation.IsValidPortName(p.GetName())) == 0 && !slices.ContainsFunc(b.main.Ports, func(o corev1.ContainerPort) bool { return o.Name == p.GetName() }) {
			port.Name = p.GetName()
		}
		b.main.Ports = append(b.main.Ports, port)
	}
	b.declareHostPorts()
	return nil
}

// setDevices mounts devices of the node. The kubelet lets a container open them only if it is
// privileged.
func (b *builder) setDevices() error {
	for i, d := range b.spec.GetDevices() {
		if !b.isPrivileged() {
			return refuseField("resources.devices", "%s: a pod gets a device of its node from a device plugin, which its pod spec asks for under resources.limits, "+
				"or if it is privileged (spec.containers[%s].securityContext.privileged)", d.GetHostPath(), MainContainer)
		}
		to := d.GetContainerPath()
		if to == "" {
			to = d.GetHostPath()
		}
		name := fmt.Sprintf("determined-device-%d", i)
		b.addVolume(name, corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: d.GetHostPath()}})
		b.main.VolumeMounts = append(b.main.VolumeMounts, corev1.VolumeMount{Name: name, MountPath: to})
	}
	return nil
}

// addMounts adds bind mounts and shared memory.
func (b *builder) addMounts() error {
	for i, m := range b.spec.GetMounts() {
		to := path.Clean(m.GetContainerPath())
		if to == runDir || hasMount(b.main, to) {
			return refuseField("bind_mounts", "%s: something else is mounted there", to)
		}
		propagation, err := b.mountPropagation(m.GetPropagation(), to)
		if err != nil {
			return err
		}
		name, below, err := b.addMountedVolume(i, m)
		if err != nil {
			return err
		}
		b.main.VolumeMounts = append(b.main.VolumeMounts, corev1.VolumeMount{
			Name: name, MountPath: to, SubPath: below, ReadOnly: m.GetReadOnly(), MountPropagation: propagation,
		})
	}
	if size := b.spec.GetShmSize(); size > 0 && !hasMount(b.main, "/dev/shm") {
		b.addVolume("determined-shm", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: resource.NewQuantity(size, resource.BinarySI),
		}})
		b.main.VolumeMounts = append(b.main.VolumeMounts, corev1.VolumeMount{Name: "determined-shm", MountPath: "/dev/shm"})
	}
	return nil
}

// addMountedVolume adds the volume of a mount, and returns its name and the path in it. In a
// checkpoint storage the kubelet creates missing directories with the permissions of the parent,
// and does not follow links out of it.
func (b *builder) addMountedVolume(i int, m *agentv1.Mount) (name, below string, err error) {
	name = fmt.Sprintf("determined-mount-%d", i)
	above := m.GetStorage()
	if above == "" {
		b.addVolume(name, corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: m.GetHostPath()}})
		return name, "", nil
	}
	if claim, inside := policy.ClaimOf(m.GetHostPath()); claim != "" {
		return claimVolume, inside, b.addClaim(claim)
	}
	below = strings.TrimPrefix(strings.TrimPrefix(m.GetHostPath(), above), "/")
	b.addVolume(name, corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: above, Type: new(corev1.HostPathDirectoryOrCreate)}})
	return name, below, nil
}

const (
	// claimVolume is the name of the volume with checkpoints. A pod uses a claim once, for all its
	// mounts.
	claimVolume = "determined-checkpoints"
	// checkpointClaims is the prefix of claims that masters create for checkpoints.
	checkpointClaims = "determined-checkpoints-"
	// checkpointGroup owns the files of a volume claim with checkpoints, so that the accounts of
	// all users can write to it. Each pod sees only the directory of its experiment.
	checkpointGroup = 65532
)

func (b *builder) addClaim(claim string) error {
	if t := b.request.Template; claim != t.CheckpointClaim && claim != checkpointClaims+t.Cluster {
		if owner := t.ownerOf(reference{kind: claimObject, name: claim}); owner != "" {
			return refuseField("checkpoint_storage.host_path", "no task may use the volume claim %s, which belongs to %s", claim, owner)
		}
	}
	for _, v := range b.pod.Spec.Volumes {
		if v.Name != claimVolume {
			continue
		}
		if c := v.PersistentVolumeClaim; c == nil || c.ClaimName != claim {
			return refuseField("checkpoint_storage.host_path", "the pod has another volume %s than the claim %s", claimVolume, claim)
		}
		return nil
	}
	b.addVolume(claimVolume, corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}})
	b.shareFiles()
	return nil
}

// shareFiles sets the fsGroup of the pod, unless its pod spec sets one.
func (b *builder) shareFiles() {
	if b.pod.Spec.SecurityContext == nil {
		b.pod.Spec.SecurityContext = &corev1.PodSecurityContext{}
	}
	if s := b.pod.Spec.SecurityContext; s.FSGroup == nil {
		s.FSGroup, s.FSGroupChangePolicy = new(int64(checkpointGroup)), new(corev1.FSGroupChangeOnRootMismatch)
	}
}

// mountPropagation converts Docker's propagation mode.
func (b *builder) mountPropagation(word, at string) (*corev1.MountPropagationMode, error) {
	var mode corev1.MountPropagationMode
	switch word {
	case "":
		return nil, nil //nolint:nilnil // nil means the default of Kubernetes
	case "rprivate":
		mode = corev1.MountPropagationNone
	case "rslave":
		mode = corev1.MountPropagationHostToContainer
	case "rshared":
		mode = corev1.MountPropagationBidirectional
		if !b.isPrivileged() {
			return nil, refuseField("bind_mounts", "%s: propagation rshared needs a privileged pod (spec.containers[%s].securityContext.privileged)", at, MainContainer)
		}
	default:
		return nil, refuseField("bind_mounts", "%s: propagation is %q; pods know rprivate, rslave and rshared", at, word)
	}
	return &mode, nil
}

func (b *builder) addVolume(name string, source corev1.VolumeSource) {
	b.pod.Spec.Volumes = append(b.pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
}
