package podspec

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/master/api/agentv1"
)

// setImages sets the image, its pull policy and pull secrets.
func (b *builder) setImages() {
	b.main.Image = b.spec.GetImage()
	b.main.ImagePullPolicy = corev1.PullIfNotPresent
	if b.spec.GetForcePullImage() {
		b.main.ImagePullPolicy = corev1.PullAlways
	}
	refs := b.pod.Spec.ImagePullSecrets
	if b.signsIn() {
		// The kubelet tries them in order.
		refs = append([]corev1.LocalObjectReference{{Name: b.pullName()}}, refs...)
	}
	if t := b.request.Template; len(t.Logins) == 0 {
		for _, name := range t.PullSecrets {
			refs = append(refs, corev1.LocalObjectReference{Name: name})
		}
	}
	b.pod.Spec.ImagePullSecrets = refs
}

// pullSuffix is the suffix of the Secret with the registry credentials of a task.
const pullSuffix = "-pull"

func (b *builder) pullName() string { return b.jobName() + pullSuffix }

func (b *builder) signsIn() bool {
	return b.spec.GetRegistryAuth() != nil || len(b.request.Template.Logins) > 0
}

// hub is the registry of image names without a registry.
const hub = "https://index.docker.io/v1/"

// pullSecret returns the Secret with the registry credentials: the cluster's, and those of the task
// for the registry of its image.
func (b *builder) pullSecret() (*corev1.Secret, error) {
	logins := maps.Clone(b.request.Template.Logins)
	if a := b.spec.GetRegistryAuth(); a != nil {
		server, own, err := b.ownLogin(a)
		if err != nil {
			return nil, err
		}
		if logins == nil {
			logins = Logins{}
		}
		logins[server] = own
	}
	data, err := json.Marshal(map[string]any{"auths": logins})
	if err != nil {
		return nil, err
	}
	s := &corev1.Secret{Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: data}}
	s.ObjectMeta = b.objectMeta(b.pullName())
	return s, nil
}

// ownLogin returns the registry credentials in a task's configuration, and the registry.
func (b *builder) ownLogin(a *agentv1.RegistryAuth) (server string, own json.RawMessage, err error) {
	if a.GetIdentityToken() != "" || a.GetRegistryToken() != "" {
		return "", nil, refuseField("environment.registry_auth", "identitytoken and registrytoken are not for pods: the kubelet signs in with username and password, or auth")
	}
	own, err = json.Marshal(registryLogin(a))
	return cmp.Or(a.GetServerAddress(), registryOf(b.spec.GetImage())), own, err
}

func registryLogin(a *agentv1.RegistryAuth) map[string]string {
	auth := a.GetAuth()
	if auth == "" {
		auth = base64.StdEncoding.EncodeToString([]byte(a.GetUsername() + ":" + a.GetPassword()))
	}
	out := map[string]string{"auth": auth}
	for key, value := range map[string]string{"username": a.GetUsername(), "password": a.GetPassword(), "email": a.GetEmail()} {
		if value != "" {
			out[key] = value
		}
	}
	return out
}

// registryOf returns the registry in an image name.
func registryOf(image string) string {
	first, _, found := strings.Cut(image, "/")
	if !found || !strings.ContainsAny(first, ".:") && first != "localhost" || first == "docker.io" {
		return hub
	}
	return first
}

// Logins maps registry addresses to credentials, in the format of Docker's configuration.
type Logins map[string]json.RawMessage

// ParseLogins parses the content of a registry Secret of either type. It ignores other parts of the
// file, which pods cannot use.
func ParseLogins(content map[string][]byte) (Logins, error) {
	if data, is := content[corev1.DockerConfigJsonKey]; is {
		var doc struct {
			Auths Logins `json:"auths"`
		}
		if err := json.Unmarshal(data, &doc); err != nil {
			return nil, fmt.Errorf("%s is no configuration of Docker: %w", corev1.DockerConfigJsonKey, err)
		}
		return doc.Auths, nil
	}
	data, is := content[corev1.DockerConfigKey]
	if !is {
		return nil, nil
	}
	var all Logins
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("%s is no configuration of Docker: %w", corev1.DockerConfigKey, err)
	}
	return all, nil
}
