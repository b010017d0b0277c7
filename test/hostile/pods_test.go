package hostile_test

import (
	"context"
	"maps"
)

// pod is a pod spec with a forbidden request.
type pod struct {
	name string
	// metadata and spec are the Pod's; container is merged into the task's own.
	metadata, spec, container map[string]any
	// text is a script that exits with 0 if the task gained something. Without a script, an
	// accepted pod spec is success.
	text string
}

const (
	asksPods    = "what a pod spec may not name: Secrets, accounts, labels, other namespaces"
	asksNodes   = "the node under a pod"
	secretPlace = "/mnt/secret"
)

// seesSecret checks that secretPlace has files.
const seesSecret = `[ -n "$(ls -A ` + secretPlace + ` 2>/dev/null)" ]`

type object = map[string]any

// mounted returns a pod spec with one volume that is mounted into the task's container.
func mounted(source object) (spec, container object) {
	volume := maps.Clone(source)
	volume["name"] = "wanted"
	return object{"volumes": []any{volume}}, object{"volumeMounts": []any{object{"name": "wanted", "mountPath": secretPlace}}}
}

// secretPods refer to the master's Secrets, {secret}, and to those of alice's task, {order}, in
// every field of a PodSpec that can refer to one.
func secretPods() []pod {
	var all []pod
	add := func(name string, source object) {
		spec, container := mounted(source)
		all = append(all, pod{name: name, spec: spec, container: container, text: seesSecret})
	}
	for _, s := range []string{"{secret}", "{config}", "{order}", "{helm}"} {
		add("mounts the Secret "+s, object{"secret": object{"secretName": s}})
		add("mounts the Secret "+s+" if it is there", object{"secret": object{"secretName": s, "optional": true}})
		add("projects the Secret "+s, object{"projected": object{"sources": []any{object{"secret": object{"name": s}}}}})
		all = append(
			all,
			pod{name: "takes its environment from the Secret " + s, container: object{"envFrom": []any{object{"secretRef": object{"name": s}}}}, text: `env | grep -qi password`},
			pod{name: "takes a variable from the Secret " + s, container: object{"env": []any{object{"name": "W", "valueFrom": object{"secretKeyRef": object{"name": s, "key": "master.yaml"}}}}}, text: `[ -n "$W" ]`},
			pod{name: "pulls images with the Secret " + s, spec: object{"imagePullSecrets": []any{object{"name": s}}}},
			pod{name: "has a sidecar with the Secret " + s, spec: object{"containers": []any{object{"name": "side", "image": "{image}", "envFrom": []any{object{"secretRef": object{"name": s}}}}}}},
			pod{name: "has an init container with the Secret " + s, spec: object{"initContainers": []any{object{"name": "first", "image": "{image}", "envFrom": []any{object{"secretRef": object{"name": s}}}}}}},
		)
	}
	for name, source := range map[string]object{
		"CSI":       {"csi": object{"driver": "d", "nodePublishSecretRef": object{"name": "{secret}"}}},
		"CephFS":    {"cephfs": object{"monitors": []string{"m"}, "secretRef": object{"name": "{secret}"}}},
		"RBD":       {"rbd": object{"monitors": []string{"m"}, "image": "i", "secretRef": object{"name": "{secret}"}}},
		"iSCSI":     {"iscsi": object{"targetPortal": "127.0.0.1:1", "iqn": "iqn.2001-04.com.example:a", "lun": 0, "chapAuthSession": true, "secretRef": object{"name": "{secret}"}}},
		"ScaleIO":   {"scaleIO": object{"gateway": "g", "system": "s", "volumeName": "v", "secretRef": object{"name": "{secret}"}}},
		"StorageOS": {"storageos": object{"volumeName": "v", "secretRef": object{"name": "{secret}"}}},
		"flex":      {"flexVolume": object{"driver": "d/d", "secretRef": object{"name": "{secret}"}}},
		"Azure":     {"azureFile": object{"secretName": "{secret}", "shareName": "s"}},
	} {
		add("names a Secret in a volume of "+name, source)
	}
	add("mounts the master's data", object{"persistentVolumeClaim": object{"claimName": "{claim}"}})
	add("projects an account's token", object{"projected": object{"sources": []any{object{"serviceAccountToken": object{"path": "token"}}}}})
	return all
}

// machinePods request access to the node.
func machinePods() []pod {
	var all []pod
	for _, path := range []string{"/", "/etc", "/var/lib/kubelet", "/run/containerd", "/etc/kubernetes", "/proc", "/dev", "/var/log"} {
		spec, container := mounted(object{"hostPath": object{"path": path}})
		all = append(all, pod{name: "mounts the node's " + path, spec: spec, container: container, text: seesSecret})
	}
	context := func(c object) object { return object{"securityContext": c} }
	return append(
		all,
		pod{name: "is on the node's network", spec: object{"hostNetwork": true}, text: `ls /sys/class/net | grep -q veth`},
		pod{name: "is among the node's processes", spec: object{"hostPID": true}, text: `cat /proc/[0-9]*/cmdline | tr '\0' ' ' | grep -q kubelet`},
		pod{name: "is among the node's shared memory", spec: object{"hostIPC": true}},
		pod{name: "listens on a port of the node", container: object{"ports": []any{object{"containerPort": 8080, "hostPort": 18080}}}},
		pod{name: "is privileged", container: context(object{"privileged": true}), text: hasCapability(21)},
		pod{name: "may gain rights", container: context(object{"allowPrivilegeEscalation": true, "capabilities": object{"add": []string{"SYS_ADMIN"}}}), text: hasCapability(21)},
		pod{name: "adds SYS_PTRACE", container: context(object{"capabilities": object{"add": []string{"SYS_PTRACE"}}}), text: hasCapability(19)},
		pod{name: "adds ALL", container: context(object{"capabilities": object{"add": []string{"ALL"}}}), text: hasCapability(21)},
		pod{name: "sees all of /proc", container: context(object{"procMount": "Unmasked"})},
		pod{name: "is unconfined by seccomp", container: context(object{"seccompProfile": object{"type": "Unconfined"}}), text: `grep -q 'Seccomp:.*0' /proc/self/status`},
		pod{name: "is unconfined by AppArmor", container: context(object{"appArmorProfile": object{"type": "Unconfined"}})},
		pod{name: "is unconfined by AppArmor, by an annotation", metadata: object{"annotations": object{"container.apparmor.security.beta.kubernetes.io/determined-container": "unconfined"}}},
		pod{name: "is another type to SELinux", spec: context(object{"seLinuxOptions": object{"type": "spc_t"}})},
		pod{name: "sets the node's kernel", spec: context(object{"sysctls": []any{object{"name": "kernel.msgmax", "value": "65537"}}}), text: `[ "$(cat /proc/sys/kernel/msgmax)" = 65537 ]`},
		pod{name: "sets the node's kernel, by a path", spec: context(object{"sysctls": []any{object{"name": "kernel/msgmax", "value": "65537"}}})},
		pod{name: "is a process of Windows", spec: context(object{"windowsOptions": object{"hostProcess": true}})},
		pod{name: "has a privileged sidecar", spec: object{"containers": []any{object{"name": "side", "image": "{image}", "securityContext": object{"privileged": true}}}}},
		pod{name: "has a privileged init container", spec: object{"initContainers": []any{object{"name": "first", "image": "{image}", "securityContext": object{"privileged": true}}}}},
		pod{name: "has a raw disk", spec: object{"volumes": []any{object{"name": "wanted", "persistentVolumeClaim": object{"claimName": "{claim}"}}}}, container: object{"volumeDevices": []any{object{"name": "wanted", "devicePath": "/dev/raw"}}}, text: `[ -b /dev/raw ]`},
		pod{name: "chooses its node", spec: object{"nodeName": "node1"}},
		pod{name: "is as important as the cluster", spec: object{"priorityClassName": "system-node-critical"}},
	)
}

// memberPods try to pass for components of the cluster.
func memberPods() []pod {
	const token = `[ -s /var/run/secrets/kubernetes.io/serviceaccount/token ]`
	all := []pod{
		{name: "runs as the master's account", spec: object{"serviceAccountName": "{account}"}, text: token},
		{name: "runs as the master's account, by its old name", spec: object{"serviceAccount": "{account}"}, text: token},
		{name: "mounts an account's token", spec: object{"automountServiceAccountToken": true}, text: token},
		{name: "runs as the default account and mounts its token", spec: object{"serviceAccountName": "default", "automountServiceAccountToken": true}, text: token},
		{name: "has an ephemeral container", spec: object{"ephemeralContainers": []any{object{"name": "e", "image": "{image}"}}}},
		{name: "is in another namespace", metadata: object{"namespace": "kube-system"}},
		{name: "is in the release's namespace", metadata: object{"namespace": "{namespace}"}},
		{name: "has a name of its own", metadata: object{"name": "mine"}},
		{name: "is owned by another", metadata: object{"ownerReferences": []any{object{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "1"}}}},
		{name: "stays for ever", metadata: object{"finalizers": []string{"example.com/never"}}},
		{name: "has another's name in DNS", spec: object{"hostname": "determined-master-service-{release}", "subdomain": "determined"}},
		{name: "replaces the task's command", container: object{"command": []string{"sh"}}},
		{name: "replaces the task's image", container: object{"image": "evil.example/image"}},
		{name: "sets its master", container: object{"env": []any{object{"name": "DET_MASTER", "value": "http://evil.example"}}}},
		{name: "mounts over its tokens", spec: object{"volumes": []any{object{"name": "e", "emptyDir": object{}}}}, container: object{"volumeMounts": []any{object{"name": "e", "mountPath": "/run/determined"}}}},
		{name: "uses a volume of ours", container: object{"volumeMounts": []any{object{"name": "determined-run", "mountPath": "/mnt"}}}},
		{name: "changes the init container", spec: object{"initContainers": []any{object{"name": "determined-init-container", "image": "evil.example/image"}}}},
		{name: "runs as root", spec: object{"securityContext": object{"runAsUser": 0}}},
		{name: "is started again for ever", spec: object{"restartPolicy": "Always"}},
	}
	for key, value := range map[string]string{
		"app": "determined-master-{release}", "determined": "{victim}", "determined-system": "master", "det-deploy.dev/cluster": "{release}",
		"determined.ai/task": "{task}", "job-name": "x", "controller-uid": "x", "app.kubernetes.io/instance": "{release}", "app.kubernetes.io/name": "determined",
		"app.kubernetes.io/managed-by": "Helm", "batch.kubernetes.io/job-name": "x",
	} {
		all = append(all, pod{name: "carries the label " + key, metadata: object{"labels": object{key: value}}})
	}
	for _, key := range []string{"determined.ai/order", "det-deploy.dev/order", "batch.kubernetes.io/job-completion-index"} {
		all = append(all, pod{name: "carries the annotation " + key, metadata: object{"annotations": object{key: "0"}}})
	}
	return all
}

// podAttempts are the submissions on Kubernetes.
func podAttempts() []attempt {
	var all []attempt
	add := func(wants string, p pod, proof *control) {
		all = append(all, attempt{
			name: "a task on kubernetes " + p.name, who: user, where: kubernetes, wants: wants, control: proof,
			try: func(ctx context.Context, w *world) outcome { return w.submitPod(ctx, p) },
		})
	}
	for _, p := range secretPods() {
		add(asksPods, p, secretIsSeen)
	}
	for _, p := range memberPods() {
		add(asksPods, p, podRuns)
	}
	for _, p := range machinePods() {
		add(asksNodes, p, podRuns)
	}
	for _, s := range mounts(kubernetes) {
		all = append(all, attempt{
			name: "a task on kubernetes by bind_mounts " + s.name, who: user, where: kubernetes, wants: asksPaths, control: podRuns,
			try: func(ctx context.Context, w *world) outcome { return w.submit(ctx, "mallory", s) },
		})
	}
	return all
}

// podRuns checks that a task with a harmless pod spec of the same shape runs and sees its mount.
var podRuns = &control{"mallory runs a task with a pod spec", func(ctx context.Context, w *world) outcome {
	spec, container := mounted(object{"emptyDir": object{}})
	return w.submitPod(ctx, pod{name: "harmless", metadata: object{"labels": object{"team": "vision"}}, spec: spec, container: container, text: "touch " + secretPlace + "/file && " + seesSecret})
}}

// secretIsSeen checks that a task sees a Secret for tasks, in every way to refer to it.
var secretIsSeen = &control{"mallory runs a task with a Secret that is for tasks", func(ctx context.Context, w *world) outcome {
	spec, container := mounted(object{"secret": object{"secretName": "{shared}"}})
	maps.Copy(container, object{
		"envFrom": []any{object{"secretRef": object{"name": "{shared}"}}},
		"env":     []any{object{"name": "W", "valueFrom": object{"secretKeyRef": object{"name": "{shared}", "key": "password"}}}},
	})
	return w.submitPod(ctx, pod{name: "shared", spec: spec, container: container, text: seesSecret + ` && env | grep -qi ^password && [ -n "$W" ]`})
}}

// submitPod submits a task with a pod spec.
func (w *world) submitPod(ctx context.Context, p pod) outcome {
	spec := maps.Clone(p.spec)
	if spec == nil {
		spec = object{}
	}
	if p.container != nil {
		own := maps.Clone(p.container)
		own["name"] = "determined-container"
		others, _ := spec["containers"].([]any)
		spec["containers"] = append(others, own)
	}
	whole := object{"apiVersion": "v1", "kind": "Pod", "spec": spec}
	if p.metadata != nil {
		whole["metadata"] = p.metadata
	}
	if p.text == "" {
		t := task{script: "true", config: environment("pod_spec", whole)}
		return w.carryOut(ctx, call{"POST", "/api/v1/commands", t.body(w), bearing(w.tokens["mallory"])})
	}
	return w.submit(ctx, "mallory", submission{config: environment("pod_spec", whole), text: p.text})
}
