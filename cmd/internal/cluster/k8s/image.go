package k8s

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/det-deploy/det-deploy/cmd/internal/build"
	"github.com/det-deploy/det-deploy/cmd/internal/cluster"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/usage"
	k8swire "github.com/det-deploy/det-deploy/cmd/internal/wire/k8s"
)

// newImage returns `det-deploy k8s image`.
func newImage(s *term.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "image",
		Short: "Manage the det-deploy image",
		Long: `Manage the det-deploy image, which the master of a cluster on Kubernetes runs. No
image is published: make image writes it to a file, and push copies it to a registry.`,
		Example: "  det-deploy k8s image push dist/det-deploy-1.0.0-linux-amd64.tar --registry registry.example.com/team",
	}
	c.AddCommand(newImagePush(s, runImagePush))
	return c
}

type imagePushOptions struct {
	*term.Streams
	cluster.Consent

	Files     []string
	Registry  string
	PlainHTTP bool
	Output    term.Format
}

func newImagePush(s *term.Streams, run func(context.Context, *imagePushOptions) error) *cobra.Command {
	o := &imagePushOptions{Streams: s}
	c := &cobra.Command{
		Use:   "push FILE...",
		Short: "Push an image file to a registry",
		Long: `Push an image that make image wrote to a registry, and print the command that installs
a cluster with it. Files of several architectures become a multi-platform image. Layers
that the registry has are not uploaded again. If the tag belongs to another image, it is
moved after confirmation.

Credentials are those of docker and podman: ~/.docker/config.json, its credential
helpers, or Podman's auth.json. A registry without TLS must be on this machine or be
allowed with --plain-http.`,
		Example: `  det-deploy k8s image push dist/det-deploy-1.0.0-linux-amd64.tar --registry registry.example.com/team
  det-deploy k8s image push dist/det-deploy-1.0.0-linux-*.tar --registry localhost:5000 --yes`,
		Args: usage.Args("FILE…"),
		RunE: func(c *cobra.Command, args []string) error {
			o.Files = args
			if err := o.validate(); err != nil {
				return err
			}
			return run(c.Context(), o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.Registry, "registry", "", "registry and path to push to, the chart's imageRegistry")
	f.BoolVar(&o.PlainHTTP, "plain-http", false, "use a registry without TLS, which exposes credentials to the network")
	o.AddConsent(f)
	o.Output.AddFlag(f)
	return c
}

func (o *imagePushOptions) validate() error {
	if err := o.CheckConsent(); err != nil {
		return err
	}
	switch {
	case o.Registry == "":
		return usage.Errorf("--registry is missing: give the registry and path from which nodes pull the image")
	case strings.Contains(o.Registry, "://"):
		return usage.Errorf("--registry: must not contain %s; example: registry.example.com/team (is %q)", o.Registry[:strings.Index(o.Registry, "://")+3], o.Registry)
	}
	return nil
}

// pushed is the JSON output of image push.
type pushed struct {
	Schema string `json:"schema"`
	// Image is the full name, and Digest the manifest digest in the registry.
	Image  string `json:"image"`
	Digest string `json:"digest"`
	// Platforms lists the platforms of the image: "linux/amd64, linux/arm64".
	Platforms string `json:"platforms"`
	// Pushed is false if the registry already has the image, and with --dry-run.
	Pushed bool `json:"pushed"`
	// Values are the chart's values that select the image.
	Values []string `json:"values"`
}

func runImagePush(ctx context.Context, o *imagePushOptions) error {
	image, err := k8swire.OpenImage(o.Files, o.Registry, o.PlainHTTP)
	if err != nil {
		return err
	}
	plan, err := image.Registry.Plan(ctx, image.Source)
	if err != nil {
		return err
	}
	r := pushed{"det-deploy.k8s-image-push/v1", plan.Image, plan.Digest, image.Platforms(), !plan.Done() && !o.DryRun, o.imageValues(image)}
	if r.Pushed {
		if agreed, err := o.confirmReplace(ctx, plan.Image, plan.Was); err != nil || !agreed {
			return err
		}
		if err := image.Registry.Push(ctx, image.Source, o.showProgress(plan.Image)); err != nil {
			return err
		}
	}
	if o.Output == term.JSON {
		return o.PrintJSON(r)
	}
	return o.say(r, plan.Done(), image)
}

// confirmReplace asks for confirmation only if the tag belongs to another image.
func (o *imagePushOptions) confirmReplace(ctx context.Context, image, was string) (bool, error) {
	if was == "" {
		return true, nil
	}
	return o.Agreed(ctx, o.Yes, fmt.Sprintf("%s is another image, %s. Move the tag to this image?", image, was))
}

// showProgress reports progress in steps of 10 %.
func (o *imagePushOptions) showProgress(image string) func(done, total int64) {
	said := int64(0)
	return func(done, total int64) {
		if total <= 0 || done*10/total <= said {
			return
		}
		said = done * 10 / total
		o.Notef("  %s: %d of %d MB", image, done>>20, total>>20)
	}
}

// imageValues returns the chart's values that select the image. It includes the tag only if it differs
// from this program's version.
func (o *imagePushOptions) imageValues(image *k8swire.Image) []string {
	out := []string{"imageRegistry=" + strings.TrimSuffix(o.Registry, "/")}
	if image.Name != "det-deploy" {
		out = append(out, "image.name="+image.Name)
	}
	if image.Tag != build.Read().Version {
		out = append(out, "image.tag="+image.Tag)
	}
	return out
}

func (o *imagePushOptions) say(r pushed, there bool, image *k8swire.Image) error {
	switch {
	case there:
		o.Printf("%s already exists, for %s.", r.Image, r.Platforms)
	case o.DryRun:
		size, err := image.Bytes()
		if err != nil {
			return err
		}
		o.Printf("%s would be pushed, for %s: at most %d MB.", r.Image, r.Platforms, size>>20)
	default:
		o.Printf("Pushed %s, for %s.", r.Image, r.Platforms)
	}
	o.Printf("Digest: %s", r.Digest)
	if o.DryRun {
		return nil
	}
	o.Printf("")
	o.Printf("Next (for a registry with login, set imagePullSecretName to a Secret of type docker-registry):")
	o.Printf("")
	o.Printf("  det-deploy k8s install --cluster-id lab --set maxSlotsPerPod=8 --set %s", strings.Join(r.Values, ","))
	return nil
}
