package helm

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/secret"
	"github.com/det-deploy/det-deploy/internal/document"
	"github.com/det-deploy/det-deploy/master/config"
	"github.com/det-deploy/det-deploy/master/config/container"
	"github.com/det-deploy/det-deploy/master/config/security"
)

// The paths at which the chart mounts files in the master's container.
const (
	port  = 8081
	tls   = "/etc/determined/tls"
	dbCA  = "/etc/determined/db-ca"
	given = "/etc/determined/given"   // entries of existing Secrets
	pull  = "/etc/determined/pull"    // the pull Secret, if tasks are in another namespace
	made  = "/run/determined/secrets" // written by the init container
	wheel = "/etc/determined/harness" // the ConfigMap with the wheel of the client library
)

// Map converts values to the master's configuration.
func Map(d Document) config.Master {
	v := d.Values
	m := config.DefaultMaster()
	m.Port = port
	m.Log.Level = cmp.Or(v.LogLevel, m.Log.Level)
	if v.LogColor != nil {
		m.Log.Color = *v.LogColor
	}
	m.ClusterName = v.ClusterName
	m.DB = v.DB.toMaster(d.Release.Name)
	if v.TensorboardTimeout != nil {
		m.TensorboardTimeout = *v.TensorboardTimeout
	}
	m.NotebookTimeout = v.NotebookTimeout
	m.Telemetry.Enabled = v.Telemetry.Enabled
	m.Observability, m.Proxy = v.Observability, v.Proxy
	if v.Logging.Elastic != nil {
		m.Logging = v.Logging
	}
	m.RetentionPolicy = config.RetentionPolicy{Days: v.RetentionPolicy.Days, Schedule: v.RetentionPolicy.Schedule}
	if !d.Release.RefusesCheckpoints { // otherwise trials would wait forever for pods that Kubernetes rejects
		m.CheckpointStorage = v.Storage.toMaster(d.Release.CheckpointClaim)
	}
	m.Security = v.mapSecurity(m.Security)
	m.Security.InitialUserPassword, m.Security.DeterminedPassword = d.firstPasswords()
	m.TaskContainerDefaults = v.mapTasks(m.TaskContainerDefaults)
	m.TaskPolicy = config.TaskPolicy(v.Policy)
	m.ResourceManager = config.ResourceManager{Kubernetes: d.resourceManager()}
	m.ResourcePools = v.ResourcePools
	return m
}

func (v Values) mapSecurity(s security.Settings) security.Settings {
	if v.Security.DefaultTask != nil {
		s.DefaultTask = *v.Security.DefaultTask
	}
	s.AuthZ.Type = cmp.Or(v.Security.AuthZ.Type, s.AuthZ.Type)
	if v.Security.TrustUsers != nil {
		s.TrustUsers = *v.Security.TrustUsers
	}
	s.Visibility = cmp.Or(v.Security.Visibility, s.Visibility)
	if v.Security.Audit != nil {
		s.Audit = *v.Security.Audit
	}
	s.Proxies = v.Security.Proxies
	if v.Security.Limits != nil {
		s.Limits = *v.Security.Limits
	}
	// The chart has always allowed plain HTTP inside the cluster without a certificate, behind a
	// load balancer or ingress that terminates TLS.
	s.AllowPlainHTTP = v.TLSSecret == ""
	if v.TLSSecret != "" {
		s.TLS = security.TLS{Cert: tls + "/tls.crt", Key: tls + "/tls.key"}
	}
	return s
}

// firstPasswords returns the initial passwords of admin and determined. If only that of admin is
// given, both users have it.
func (d Document) firstPasswords() (admin, determined secret.Value) {
	v := d.Values
	admin = passwordSecret("admin-password", v.PasswordSecret, cmp.Or(v.InitialUserPassword.Reveal(), v.DefaultPassword.Reveal()))
	determined = passwordSecret("determined-password", v.DeterminedPasswordSecret, v.DeterminedPassword.Reveal())
	if !admin.IsZero() {
		return admin, determined
	}
	// A chart of the previous version does not set this and generates only one password.
	if determined.IsZero() && d.Release.DeterminedPassword {
		determined = fileSecret(made, "determined-password")
	}
	return fileSecret(made, "admin-password"), determined
}

// passwordSecret returns the given password, or none.
func passwordSecret(name string, elsewhere *SecretRef, text string) secret.Value {
	switch {
	case elsewhere != nil:
		return fileSecret(given, name)
	case text != "":
		return secret.Literal(text)
	}
	return secret.Value{}
}

func (v Values) mapTasks(t container.Defaults) container.Defaults {
	w := v.Tasks
	t.NetworkMode = cmp.Or(w.NetworkMode, t.NetworkMode)
	t.DtrainInterface = w.DtrainInterface
	t.ForcePullImage = w.ForcePullImage
	t.CPUPodSpec, t.GPUPodSpec, t.CheckpointGCSpec = w.CPUPodSpec, w.GPUPodSpec, w.CheckpointGCSpec
	t.Image = container.Images{
		CPU:  cmp.Or(w.CPUImage, v.DefaultImages.CPU),
		CUDA: cmp.Or(w.GPUImage, v.DefaultImages.GPU),
		ROCm: cmp.Or(w.ROCmImage, v.DefaultImages.ROCm),
	}
	t.LogPolicies = w.LogPolicies
	t.StartupHook = w.StartupHook
	if own := w.HarnessWheel; own != nil {
		t.HarnessWheel = container.Wheel{File: path.Join(wheel, own.File), SHA256: own.SHA256}
	}
	t.ShmSize = cmp.Or(w.ShmSize, t.ShmSize)
	if w.PreemptionTimeout != nil {
		t.PreemptionTimeout = *w.PreemptionTimeout
	}
	t.Environment = w.Environment
	return t
}

func (d Document) resourceManager() *config.KubernetesRM {
	v := d.Values
	var r config.KubernetesRM
	r.SetDefaults()
	r.ClusterName = cmp.Or(v.ResourceManager.ClusterName, r.ClusterName)
	only := ""
	if len(v.ResourcePools) == 1 { // it is the default pool
		only = v.ResourcePools[0].Name
	}
	r.DefaultPools = config.DefaultPools{Aux: cmp.Or(v.AuxPool, only, r.Aux), Compute: cmp.Or(v.ComputePool, only, r.Compute)}
	// A chart of the previous version does not set a namespace of tasks.
	r.DefaultNamespace = cmp.Or(cmp.Or(d.Release.TaskNamespace, v.ResourceManager.DefaultNamespace), d.Release.Namespace)
	if r.DefaultNamespace != d.Release.Namespace {
		r.FormerNamespaces = []string{d.Release.Namespace}
	}
	r.TaskServiceAccount, r.ProtectedObjects = d.Release.TaskAccount, d.Release.Protected
	r.MaxSlotsPerPod = v.MaxSlotsPerPod
	if v.SlotType != "gpu" { // the older name of the default
		r.SlotType = cmp.Or(v.SlotType, r.SlotType)
	}
	r.SlotResource = v.SlotResource
	r.SlotResourceRequests = v.SlotResourceRequests
	r.MasterServiceName = "determined-master-service-" + d.Release.Name
	r.DefaultScheduler = v.DefaultScheduler
	r.MasterScheme = cmp.Or(v.MasterScheme, map[bool]string{true: "https", false: "http"}[v.TLSSecret != ""])
	r.MasterHost = cmp.Or(v.MasterHost, fmt.Sprintf("%s.%s.svc.cluster.local", r.MasterServiceName, d.Release.Namespace))
	r.MasterPort = cmp.Or(v.MasterPublicPort, v.MasterPort)
	if d.Release.CheckpointClaim != "" {
		r.CheckpointClaim = v.Storage.claim()
	}
	r.ClusterID = d.Release.Name
	r.MasterImage = d.Release.Image
	if v.ImagePullSecretName != "" {
		r.ImagePullSecrets = []string{v.ImagePullSecretName}
		if r.DefaultNamespace != d.Release.Namespace {
			r.ImagePullSecretDir = pull
		}
	}
	return &r
}

// fileSecret returns a reference to a mounted entry.
func fileSecret(dir, name string) secret.Value {
	v, err := secret.Parse("file:" + dir + "/" + name)
	if err != nil { // it consists of constants
		panic(err)
	}
	return v
}

// isGiven reports whether a part is set: neither missing, nor empty, nor disabled.
func isGiven(part document.Raw) bool {
	return !slices.Contains([]string{"", "null", "{}", "[]", "false", `""`}, string(part.JSON())) && !isDisabled(part)
}
