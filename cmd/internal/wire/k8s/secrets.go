package k8s

import (
	"context"
	"os"

	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/k8s/kube"
	"github.com/det-deploy/det-deploy/k8s/secrets"
)

// SecretsWanted is which passwords of a cluster there must be.
type SecretsWanted struct {
	Cluster   string
	Namespace string
	// Secret is the name of the Secret, Keys its entries.
	Secret string
	Keys   []string
	// Copies are those of Keys that get the value of another entry where that was made
	// before.
	Copies map[string]string
	// To is a directory for the entries, or empty.
	To string
}

// InitSecrets makes what is missing of the Secret in the cluster of this pod, or,
// outside of one, of the kubeconfig.
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
