package podspec

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Logins are sign-ins to registries by address, each as Docker's configuration has it.
type Logins map[string]json.RawMessage

// ParseLogins reads the content of a Secret for registries, of either type that
// Kubernetes knows. What else its file holds is left out: pods cannot use it.
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
