package podspec

import (
	"fmt"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/master/policy"
)

// requestedResources returns the privileges that a pod spec requests of its node, in terms of the
// task policy.
func requestedResources(p *corev1.Pod) policy.Asked {
	a := &asking{spec: &p.Spec}
	a.addPod()
	a.addAnnotations(p.Annotations)
	for i := range p.Spec.Volumes {
		a.addVolume(&p.Spec.Volumes[i])
	}
	for _, c := range containersOf(&p.Spec) {
		a.addContainer(c)
	}
	return a.Asked
}

// listed is a container and its path in the pod spec.
type listed struct {
	*corev1.Container

	field string
}

func containersOf(s *corev1.PodSpec) []listed {
	var out []listed
	for i := range s.InitContainers {
		out = append(out, listed{&s.InitContainers[i], "spec.initContainers[" + s.InitContainers[i].Name + "]"})
	}
	for i := range s.Containers {
		out = append(out, listed{&s.Containers[i], "spec.containers[" + s.Containers[i].Name + "]"})
	}
	return out
}

type asking struct {
	policy.Asked

	spec *corev1.PodSpec
}

// noteValue appends the field of a requested privilege.
func noteValue(list *[]string, set bool, field string) {
	if set {
		*list = append(*list, field)
	}
}

// systemPriority is the prefix of Kubernetes' own priority classes, whose pods preempt all others
// of a node. No user can create a class with this prefix.
const systemPriority = "system-"

func (a *asking) addPod() {
	s := a.spec
	noteValue(&a.HostNetwork, s.HostNetwork, "spec.hostNetwork")
	noteValue(&a.HostPID, s.HostPID, "spec.hostPID")
	noteValue(&a.HostIPC, s.HostIPC, "spec.hostIPC")
	if strings.HasPrefix(s.PriorityClassName, systemPriority) {
		a.Priorities = append(a.Priorities, policy.Text{Field: "spec.priorityClassName", Value: s.PriorityClassName})
	}
	noteValue(&a.Tokens, isTrue(s.AutomountServiceAccountToken), "spec.automountServiceAccountToken")
	c := s.SecurityContext
	if c == nil {
		return
	}
	const at = "spec.securityContext"
	for _, sysctl := range c.Sysctls {
		noteValue(&a.Privileged, !slices.Contains(safeSysctls(), sysctl.Name), at+".sysctls["+sysctl.Name+"]")
	}
	a.addConfinement(at, c.SELinuxOptions, c.SeccompProfile, c.AppArmorProfile, c.WindowsOptions)
}

// safeSysctls returns the sysctls that the Pod Security level baseline permits.
func safeSysctls() []string {
	return []string{
		"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
		"net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_local_reserved_ports",
		"net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
		"net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem",
	}
}

// addConfinement counts settings that weaken the confinement of containers as privileged, like the
// Pod Security level baseline.
func (a *asking) addConfinement(at string, se *corev1.SELinuxOptions, sec *corev1.SeccompProfile, armor *corev1.AppArmorProfile, win *corev1.WindowsSecurityContextOptions) {
	if se != nil {
		ordinary := []string{"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}
		noteValue(&a.Privileged, se.User != "" || se.Role != "" || !slices.Contains(ordinary, se.Type), at+".seLinuxOptions")
	}
	noteValue(&a.Privileged, sec != nil && sec.Type == corev1.SeccompProfileTypeUnconfined, at+".seccompProfile")
	noteValue(&a.Privileged, armor != nil && armor.Type == corev1.AppArmorProfileTypeUnconfined, at+".appArmorProfile")
	noteValue(&a.Privileged, win != nil && isTrue(win.HostProcess), at+".windowsOptions.hostProcess")
}

func (a *asking) addAnnotations(all map[string]string) {
	for key, value := range all {
		unconfined := strings.HasPrefix(key, corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) && value == corev1.DeprecatedAppArmorBetaProfileNameUnconfined
		noteValue(&a.Privileged, unconfined, "metadata.annotations["+key+"]")
	}
	slices.Sort(a.Privileged)
}

func (a *asking) addVolume(v *corev1.Volume) {
	at := "spec.volumes[" + v.Name + "]"
	switch {
	case v.HostPath != nil:
		a.hostPath(at+".hostPath.path", v)
	case v.GitRepo != nil:
		// The kubelet runs git on the node, with hooks from the repository.
		noteValue(&a.Privileged, true, at+".gitRepo")
	case v.FlexVolume != nil:
		noteValue(&a.Privileged, true, at+".flexVolume") // runs a program of the node as root
	case v.Image != nil:
		a.Images = append(a.Images, policy.Text{Field: at + ".image.reference", Value: v.Image.Reference})
	case v.Projected != nil:
		noteValue(&a.Tokens, slices.ContainsFunc(v.Projected.Sources, isToken), at+".projected.sources.serviceAccountToken")
	case v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumMemory:
		most := int64(math.MaxInt64)
		if v.EmptyDir.SizeLimit != nil {
			most = v.EmptyDir.SizeLimit.Value()
		}
		a.Shm = append(a.Shm, policy.Amount{Field: at + ".emptyDir.sizeLimit", Bytes: most})
	}
}

func isToken(p corev1.VolumeProjection) bool { return p.ServiceAccountToken != nil }

// hostPath is read-only if all containers mount it read-only, and shared if one does.
func (a *asking) hostPath(field string, v *corev1.Volume) {
	m := policy.Mount{Field: field, Path: v.HostPath.Path, ReadOnly: true}
	for _, c := range containersOf(a.spec) {
		for _, mount := range c.VolumeMounts {
			if mount.Name != v.Name {
				continue
			}
			m.ReadOnly = m.ReadOnly && mount.ReadOnly
			if p := mount.MountPropagation; p != nil && *p == corev1.MountPropagationBidirectional {
				m.Propagation = "rshared"
			}
		}
	}
	a.Mounts = append(a.Mounts, m)
}

func (a *asking) addContainer(c listed) {
	if c.Image != "" {
		a.Images = append(a.Images, policy.Text{Field: c.field + ".image", Value: c.Image})
	}
	for _, p := range c.Ports {
		noteValue(&a.HostNetwork, p.HostPort != 0 || p.HostIP != "", fmt.Sprintf("%s.ports[%d].hostPort", c.field, p.ContainerPort))
	}
	a.addHandlers(c)
	if limit, set := c.Resources.Limits[corev1.ResourceMemory]; set {
		a.Memory = append(a.Memory, policy.Amount{Field: c.field + ".resources.limits[memory]", Bytes: limit.Value()})
	}
	a.addUser(c)
	s := c.SecurityContext
	if s == nil {
		return
	}
	at := c.field + ".securityContext"
	noteValue(&a.Privileged, isTrue(s.Privileged), at+".privileged")
	noteValue(&a.Privileged, isTrue(s.AllowPrivilegeEscalation), at+".allowPrivilegeEscalation")
	noteValue(&a.Privileged, s.ProcMount != nil && *s.ProcMount == corev1.UnmaskedProcMount, at+".procMount")
	a.addConfinement(at, s.SELinuxOptions, s.SeccompProfile, s.AppArmorProfile, s.WindowsOptions)
	if s.Capabilities != nil {
		for _, name := range s.Capabilities.Add {
			a.Capabilities = append(a.Capabilities, policy.Text{Field: at + ".capabilities.add[" + string(name) + "]", Value: string(name)})
		}
	}
}

// addUser records a container other than the task's that may run as root, for example because of
// its image. The user of the task's container and of the cluster's init container is its owner's.
func (a *asking) addUser(c listed) {
	if c.Name == MainContainer || c.Name == InitContainer {
		return
	}
	var uid int64
	rootless := a.spec.SecurityContext != nil && isTrue(a.spec.SecurityContext.RunAsNonRoot)
	if s := c.SecurityContext; s != nil {
		if s.RunAsNonRoot != nil {
			rootless = *s.RunAsNonRoot
		}
		if s.RunAsUser != nil {
			uid = *s.RunAsUser
		}
	}
	if uid == 0 && !rootless {
		a.Users = append(a.Users, policy.User{Field: c.field + ".securityContext.runAsUser", UID: uid})
	}
}

// addHandlers records probes and hooks that make the kubelet, on the node's network, call another
// address than the pod's.
func (a *asking) addHandlers(c listed) {
	hook := func(field string, h *corev1.LifecycleHandler) {
		if h != nil {
			noteValue(&a.HostNetwork, callsAway(h.HTTPGet, h.TCPSocket), c.field+".lifecycle."+field)
		}
	}
	if c.Lifecycle != nil {
		hook("postStart", c.Lifecycle.PostStart)
		hook("preStop", c.Lifecycle.PreStop)
	}
	for _, probe := range probesOf(c.Container) {
		noteValue(&a.HostNetwork, callsAway(probe.of.HTTPGet, probe.of.TCPSocket), c.field+"."+probe.field)
	}
}

// listedProbe is a probe and its field in the container.
type listedProbe struct {
	field string
	of    *corev1.Probe
}

func probesOf(c *corev1.Container) []listedProbe {
	all := []listedProbe{{"livenessProbe", c.LivenessProbe}, {"readinessProbe", c.ReadinessProbe}, {"startupProbe", c.StartupProbe}}
	return slices.DeleteFunc(all, func(p listedProbe) bool { return p.of == nil })
}

func callsAway(get *corev1.HTTPGetAction, tcp *corev1.TCPSocketAction) bool {
	return get != nil && get.Host != "" || tcp != nil && tcp.Host != ""
}

// withoutOwn returns the privileges in a without those that the cluster itself has requested.
func withoutOwn(a, given policy.Asked) policy.Asked {
	chosen := withoutGiven(a.Images, given.Images)
	return policy.Asked{
		Mounts: withoutGiven(a.Mounts, given.Mounts), Devices: withoutGiven(a.Devices, given.Devices),
		Capabilities: withoutGiven(a.Capabilities, given.Capabilities), Images: chosen, Chosen: chosen,
		Users: withoutGiven(a.Users, given.Users), Privileged: withoutGiven(a.Privileged, given.Privileged),
		HostNetwork: withoutGiven(a.HostNetwork, given.HostNetwork), HostPID: withoutGiven(a.HostPID, given.HostPID),
		HostIPC: withoutGiven(a.HostIPC, given.HostIPC), Priorities: withoutGiven(a.Priorities, given.Priorities),
		Tokens: withoutGiven(a.Tokens, given.Tokens), Shm: withoutGiven(a.Shm, given.Shm), Memory: withoutGiven(a.Memory, given.Memory),
	}
}

func withoutGiven[T comparable](list, given []T) []T {
	return slices.DeleteFunc(slices.Clone(list), func(v T) bool { return slices.Contains(given, v) })
}
