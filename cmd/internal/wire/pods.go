package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/k8s/gang"
	"github.com/det-deploy/det-deploy/k8s/kube"
	"github.com/det-deploy/det-deploy/k8s/pods"
	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/config"
	mlog "github.com/det-deploy/det-deploy/master/log"
	"github.com/det-deploy/det-deploy/master/rm"
	"github.com/det-deploy/det-deploy/master/server"
	"github.com/det-deploy/det-deploy/master/store"
)

// newPods runs tasks as pods.
func (m *master) newPods(s site, st *store.Store, id server.Identity) (*pods.RM, error) {
	k := s.cfg.ResourceManager.Kubernetes
	client, err := kube.Open(kube.Options{
		Kubeconfig: k.KubeconfigPath, InCluster: k.KubeconfigPath == "", Namespace: k.DefaultNamespace,
		UserAgent: "det-deploy/" + build.Read().Version, Log: s.log,
	})
	if err != nil {
		return nil, fmt.Errorf("run tasks on Kubernetes: %w", err)
	}
	api, err := client.Clientset()
	if err != nil {
		return nil, fmt.Errorf("run tasks on Kubernetes: %w", err)
	}
	t, err := s.podTemplate(*k, id)
	if err != nil {
		return nil, err
	}
	o := gang.DefaultOptions()
	o.Preemption = k.DefaultScheduler == config.PreemptionScheduler
	c := pods.Config{
		Log: s.log, Client: api, Cluster: t.Cluster, Namespace: t.Namespace, Former: k.FormerNamespaces, Tasks: m.tasks, Logs: m.tasks,
		Memory: podMemory{st}, LastLine: m.lastLine, DefaultAux: k.Aux, DefaultCompute: k.Compute,
		ClusterName: k.ClusterName, Metadata: metadata(k.Metadata), Leave: k.LeaveKubernetesResources, Gang: o,
	}
	if dir := k.ImagePullSecretDir; dir != "" {
		c.Logins = func() (podspec.Logins, error) { return readLogins(dir) }
	}
	for _, p := range s.cfg.ResourcePools {
		c.Pools = append(c.Pools, pods.Pool{
			Name: p.Name, Description: p.Description, Autoscaled: p.Autoscaled, Template: s.poolTemplate(t, p), Policy: taskPolicy(s.cfg, p),
		})
	}
	return pods.New(c)
}

// podTemplate is what all tasks have in common.
func (s site) podTemplate(k config.KubernetesRM, id server.Identity) (podspec.Template, error) {
	t := podspec.Template{
		Cluster: k.ClusterID, ClusterID: id.ClusterID, MasterID: id.MasterID, Namespace: k.DefaultNamespace,
		Account: k.TaskServiceAccount, Protected: k.ProtectedObjects,
		Image: k.MasterImage, PullSecrets: k.ImagePullSecrets, SlotType: podspec.SlotType(k.SlotType), SlotCPU: k.SlotResourceRequests.CPU,
		Master: podspec.Master{Scheme: k.MasterScheme, Host: k.MasterHost, Port: k.MasterPort},
	}
	if t.Cluster == "" {
		t.Cluster = id.ClusterID
	}
	if k.SlotType == "gpu" { // the older name
		t.SlotType = podspec.CUDA
	}
	if k.DefaultScheduler == podspec.Coscheduler {
		t.Scheduler = podspec.Coscheduler
	}
	if t.Image == "" {
		return t, errors.New("resource_manager.master_image: is needed: name the image with det-deploy, whose pod init prepares each task's pod")
	}
	m := &t.Master
	if m.Host == "" && k.MasterServiceName != "" {
		m.Host = k.MasterServiceName
	}
	if m.Host == "" {
		return t, errors.New("resource_manager.determined_master_host: is needed: name the address by which pods reach this master")
	}
	if m.Scheme == "" {
		m.Scheme = "http"
		if s.cfg.Security.TLS.Enabled() {
			m.Scheme = "https"
		}
	}
	if m.Port == 0 {
		m.Port = s.cfg.ListenPort()
	}
	if m.Scheme != "https" {
		return t, nil
	}
	var err error
	if m.CA, err = s.authority(); err != nil {
		return t, err
	}
	if k.MasterServiceName != "" && strings.HasPrefix(m.Host, k.MasterServiceName) {
		m.CertName, err = s.certName(m.Host)
	}
	return t, err
}

// poolTemplate is what the tasks of one pool have in common.
func (s site) poolTemplate(t podspec.Template, p config.Pool) podspec.Template {
	d := p.EffectiveTaskContainer(s.cfg.TaskContainerDefaults)
	t.CPUPodSpec, t.GPUPodSpec = d.CPUPodSpec.JSON(), d.GPUPodSpec.JSON()
	if most := s.cfg.ResourceManager.Kubernetes.MaxSlotsPerPod; most != nil {
		t.MaxSlotsPerPod = *most
	}
	if d.Kubernetes != nil && d.Kubernetes.MaxSlotsPerPod != nil {
		t.MaxSlotsPerPod = *d.Kubernetes.MaxSlotsPerPod
	}
	return t
}

// podMemory keeps the documents of k8s/pods in the store.
type podMemory struct{ store *store.Store }

func podDocs() store.Collection[json.RawMessage] {
	return store.Collection[json.RawMessage]{Kind: "pods"}
}

// Put implements pods.Memory.
func (m podMemory) Put(ctx context.Context, key string, doc []byte) error {
	return m.store.Write(ctx, func(tx *store.Tx) error { return podDocs().Put(tx, key, "", time.Now(), doc) })
}

// Delete implements pods.Memory.
func (m podMemory) Delete(ctx context.Context, key string) error {
	return m.store.Write(ctx, func(tx *store.Tx) error { return podDocs().Delete(tx, key) })
}

// All implements pods.Memory.
func (m podMemory) All(ctx context.Context) (map[string][]byte, error) {
	docs, err := podDocs().All(ctx, m.store)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]byte, len(docs))
	for _, d := range docs {
		out[d.ID] = d.Value
	}
	return out, nil
}

// lastLine is the time of a container's last stored line.
func (m *master) lastLine(ctx context.Context, id rm.AllocationID, c rm.ContainerID) (time.Time, error) {
	f := mlog.Filter{Task: taskOf(id), Containers: []string{string(c)}, Limit: 1, Order: mlog.Newest}
	for e, err := range m.logs.Query(ctx, f) {
		return e.At, err
	}
	return time.Time{}, nil
}

// taskOf is the task of an allocation: "<task>.<n>".
func taskOf(id rm.AllocationID) string {
	for i := len(id) - 1; i >= 0; i-- {
		if id[i] == '.' {
			return string(id[:i])
		}
	}
	return string(id)
}
