package parts

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/kube"
	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/k8s/pods/claim"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/policy"
)

// newKubernetes returns the resource manager that runs tasks as pods.
func newKubernetes(env master.Env, deps master.KubernetesDeps) (master.Kubernetes, error) {
	k := env.Config.ResourceManager.Kubernetes
	client, err := kube.Open(kube.Options{
		Kubeconfig: k.KubeconfigPath, InCluster: k.KubeconfigPath == "", Namespace: k.DefaultNamespace,
		UserAgent: "det-deploy/" + env.Version, Log: env.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot run tasks on Kubernetes: %w", err)
	}
	api, err := client.Clientset()
	if err != nil {
		return nil, fmt.Errorf("cannot run tasks on Kubernetes: %w", err)
	}
	t, err := podTemplate(env, *k)
	if err != nil {
		return nil, err
	}
	o := gang.DefaultOptions()
	o.Preemption = k.DefaultScheduler == config.PreemptionScheduler
	c := pods.Config{
		Log: env.Log, Client: api, REST: client.Config(), Cluster: t.Cluster, Namespace: t.Namespace, Former: k.FormerNamespaces, Tasks: deps.Tasks, Logs: deps.Logs,
		Memory: deps.Memory, LastLine: deps.LastLine, DefaultAux: k.Aux, DefaultCompute: k.Compute,
		ClusterName: k.ClusterName, Metadata: deps.Metadata, Leave: k.LeaveKubernetesResources, Gang: o,
	}
	if dir := k.ImagePullSecretDir; dir != "" {
		c.Logins = func() (podspec.Logins, error) { return readLogins(dir) }
	}
	if k.CheckpointClaim != nil {
		want, err := wantedClaim(t, *k.CheckpointClaim)
		if err != nil {
			return nil, fmt.Errorf("resource_manager.checkpoint_claim: %w", err)
		}
		c.Claim = claim.NewKeeper(env.Log, api, want)
	}
	for _, p := range env.Config.ResourcePools {
		c.Pools = append(c.Pools, pods.Pool{
			Name: p.Name, Description: p.Description, Autoscaled: p.Autoscaled, Template: poolTemplate(env.Config, t, p), Policy: deps.Policy(p), Price: master.DescribeSlotPrice(p),
		})
	}
	return pods.New(c)
}

// wantedClaim returns the volume claim that the master creates for checkpoints.
func wantedClaim(t podspec.Template, c config.CheckpointClaim) (claim.Wanted, error) {
	if t.CheckpointClaim == "" {
		return claim.Wanted{}, errors.New("checkpoint_storage must be shared_fs with a volume claim as host_path")
	}
	size, err := resource.ParseQuantity(c.Size)
	if err != nil {
		return claim.Wanted{}, fmt.Errorf("size %q: %w", c.Size, err)
	}
	return claim.Wanted{
		Name: t.CheckpointClaim, Namespace: t.Namespace, Cluster: t.Cluster,
		Size: size, Class: c.StorageClass, Mode: corev1.PersistentVolumeAccessMode(c.AccessMode),
	}, nil
}

// podTemplate returns the template of all task pods.
func podTemplate(env master.Env, k config.KubernetesRM) (podspec.Template, error) {
	t := configuredTemplate(env.Config, k)
	t.ClusterID, t.MasterID = env.ClusterID, env.MasterID
	t.Cluster = cmp.Or(t.Cluster, env.ClusterID)
	if err := addressProblems(k).Err(); err != nil {
		return t, err
	}
	if t.Master.Scheme != "https" {
		return t, nil
	}
	m, err := &t.Master, error(nil)
	if m.CA, err = masterAuthority(env.Config); err != nil {
		return t, err
	}
	if k.MasterServiceName != "" && strings.HasPrefix(m.Host, k.MasterServiceName) {
		m.CertName, err = masterCertName(env.Config, m.Host)
	}
	return t, err
}

// configuredTemplate returns the part of the template that follows from the configuration.
func configuredTemplate(cfg config.Master, k config.KubernetesRM) podspec.Template {
	t := podspec.Template{
		Cluster: k.ClusterID, Namespace: k.DefaultNamespace,
		Account: k.TaskServiceAccount, Protected: k.ProtectedObjects,
		Image: k.MasterImage, PullSecrets: k.ImagePullSecrets, SlotType: podspec.SlotType(k.SlotType), SlotCPU: k.SlotResourceRequests.CPU,
		SlotResource: k.SlotResource,
		Master:       podspec.Master{Scheme: k.MasterScheme, Host: cmp.Or(k.MasterHost, k.MasterServiceName), Port: cmp.Or(k.MasterPort, cfg.ListenPort())},
	}
	if s := cfg.CheckpointStorage; s != nil && s.SharedFS != nil {
		t.CheckpointClaim, _ = policy.ClaimOf(s.SharedFS.HostPath)
	}
	if k.SlotType == "gpu" { // older name of cuda
		t.SlotType = podspec.CUDA
	}
	if k.DefaultScheduler == podspec.Coscheduler {
		t.Scheduler = podspec.Coscheduler
	}
	if t.Master.Scheme == "" {
		t.Master.Scheme = "http"
		if cfg.Security.TLS.Enabled() {
			t.Master.Scheme = "https"
		}
	}
	return t
}

// poolTemplate returns the template of the task pods in a pool.
func poolTemplate(cfg config.Master, t podspec.Template, p config.Pool) podspec.Template {
	d := p.EffectiveTaskContainer(cfg.TaskContainerDefaults)
	t.CPUPodSpec, t.GPUPodSpec = d.CPUPodSpec.JSON(), d.GPUPodSpec.JSON()
	t.CheckpointGCPodSpec, t.HostNetwork = d.CheckpointGCSpec.JSON(), d.NetworkMode == "host"
	t.MaxGrace = time.Duration(cfg.EffectiveTaskPolicy(p).MaxGrace)
	if most := cfg.ResourceManager.Kubernetes.MaxSlotsPerPod; most != nil {
		t.MaxSlotsPerPod = *most
	}
	if d.Kubernetes != nil && d.Kubernetes.MaxSlotsPerPod != nil {
		t.MaxSlotsPerPod = *d.Kubernetes.MaxSlotsPerPod
	}
	return t
}
