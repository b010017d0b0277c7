package parts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/podspec"
)

// readLogins reads registry credentials from a mounted Secret. A missing Secret is not an error, because
// nodes may pull without credentials.
func readLogins(dir string) (podspec.Logins, error) {
	content := make(map[string][]byte)
	for _, name := range []string{corev1.DockerConfigJsonKey, corev1.DockerConfigKey} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the pull Secret: %w", err)
		}
		content[name] = data
	}
	logins, err := podspec.ParseLogins(content)
	if err != nil {
		return nil, fmt.Errorf("cannot read the pull Secret in %s: %w", dir, err)
	}
	return logins, nil
}
