package k8s

import (
	"context"
	"os"

	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/k8s/kube"
	"github.com/det-deploy/det-deploy/k8s/secrets"
)

// SecretsWanted describes the passwords that a cluster requires.
type SecretsWanted struct {
	Cluster   string
	Namespace string
	// Secret is the name of the Secret, and Keys are its entries.
	Secret string
	Keys   []string
	// Copies maps a key to an existing entry whose value it copies.
	Copies map[string]string
	// To is a directory to write the entries to, or empty.
	To string
}

// InitSecrets creates the missing entries of the Secret. It uses the cluster of this pod or, outside of a
// pod, that of the kubeconfig.
func InitSecrets(ctx context.Context, w SecretsWanted) error {
	_, inPod := os.LookupEnv("KUBERNETES_SERVICE_HOST")
	c, err := kube.Open(kube.Options{Namespace: w.Namespace, InCluster: inPod, UserAgent: "det-deploy/" + build.Read().Version})
	if err != nil {
		return err
	}
	api, err := c.Clientset()
	if err != nil {
		return err
	}
	entries, err := secrets.Ensure(ctx, api.CoreV1().Secrets(c.Namespace()), secrets.Wanted{Name: w.Secret, Cluster: w.Cluster, Keys: w.Keys, Copies: w.Copies})
	if err != nil || w.To == "" {
		return err
	}
	return secrets.Write(w.To, entries)
}
