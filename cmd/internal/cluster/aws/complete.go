package aws

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"al.essio.dev/pkg/shellescape"

	"github.com/det-deploy/det-deploy/cmd/internal/cluster/hosted"
	"github.com/det-deploy/det-deploy/cmd/internal/term"
	"github.com/det-deploy/det-deploy/cmd/internal/wire"
	"github.com/det-deploy/det-deploy/document"
	"github.com/det-deploy/det-deploy/installer/spec"
)

// completion asks a person for what a new cluster needs and nobody has said.
// Whatever is answered could have been given by a flag, and is shown as such.
type completion struct {
	*term.Streams

	w     *wanted
	given *spec.Given
	// region is where the cluster will be, once that is known.
	region string
	advice wire.AWSAdvice
	asked  bool
}

// complete fills in what can be inferred, and asks for the rest where ask is true
// and somebody is there.
func (w *wanted) complete(ctx context.Context, s *term.Streams, g *spec.Given, ask bool) error {
	c := &completion{Streams: s, w: w, given: g}
	ask = ask && s.CanAsk()
	if w.Cluster == "" && ask {
		if err := c.cluster(ctx); err != nil {
			return err
		}
	}
	if err := w.validate(); err != nil {
		return err
	}
	if ask {
		if err := c.where(ctx); err != nil {
			return err
		}
	}
	known, err := w.known(ctx, s, *g)
	if err != nil || known {
		return err
	}
	if err := c.inbound(ctx, ask); err != nil || !ask {
		return err
	}
	for _, step := range []func(context.Context) error{c.types, c.agents, c.keyPair} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	c.echo()
	return nil
}

// known reports whether the cluster has a record, which says the rest. Nothing is
// asked of who has one whose record is lost.
func (w *wanted) known(ctx context.Context, s *term.Streams, g spec.Given) (bool, error) {
	q := w.request(s)
	q.Given = &g
	known, lost, err := wire.KnowsAWS(ctx, s, q)
	if lost {
		err = errors.Join(err, &hosted.LostError{Platform: Platform{}.Name(), Cluster: w.Cluster})
	}
	return known, err
}

func (c *completion) cluster(ctx context.Context) error {
	id, err := c.Fill(ctx, term.Field{
		Label: "Cluster id", Help: "The cluster's name: it is all that is needed to find it again.", Flag: "--cluster-id",
		Check: func(_ context.Context, id string) error {
			return (&wanted{Flags: hosted.Flags{Cluster: id}}).validate()
		},
	})
	c.w.Cluster, c.asked = id, true
	return err
}

// where settles the region: what is said, where the cluster or what was kept of it
// is, what the environment has, or an answer.
func (c *completion) where(ctx context.Context) error {
	q := c.w.request(c.Streams)
	q.Given = c.given
	if here, err := wire.RegionOf(ctx, q); err == nil {
		c.region = here
	}
	if c.region != "" {
		var err error
		c.advice, err = wire.AdviseAWS(ctx, c.region, c.w.Profile)
		return err
	}
	first, err := wire.AdviseAWS(ctx, "", c.w.Profile)
	if err != nil {
		return err
	}
	regions, err := first.Regions(ctx, c.w.Profile)
	if err != nil {
		return err
	}
	f := term.Field{
		Label: "Region", Help: "Where the cluster runs. Neither --region nor AWS_REGION says so.", Flag: "--region",
		Choices: regions,
		Check: func(_ context.Context, r string) error {
			if slices.ContainsFunc(regions, func(c term.Choice) bool { return c.Value == r }) {
				return nil
			}
			return fmt.Errorf("there is no region %s", r)
		},
	}
	if c.region, err = c.ask(ctx, f, "region"); err != nil {
		return err
	}
	c.advice, err = wire.AdviseAWS(ctx, c.region, c.w.Profile)
	return err
}

// inbound is who may reach the master: the caller alone, unless they say otherwise.
func (c *completion) inbound(ctx context.Context, ask bool) error {
	const path = "network.inbound_cidrs"
	if _, said := c.said(path); said {
		return nil
	}
	own, err := wire.OwnAddress(ctx, c.Streams)
	if err == nil {
		c.add(path, "--inbound-cidr", own)
		c.Notef("Only this machine's address, %s, can reach the master; --inbound-cidr admits others.", own)
		return nil
	}
	if !ask {
		return nil // the rules of the setting name the flag
	}
	_, err = c.ask(ctx, term.Field{
		Label: "Who may reach the master", Flag: "--inbound-cidr",
		Help: "An address range, as in 203.0.113.7/32; 0.0.0.0/0 is everybody. This machine's own address could not be learned.",
		Check: func(_ context.Context, r string) error {
			for one := range strings.SplitSeq(r, ",") {
				if p, err := netip.ParsePrefix(strings.TrimSpace(one)); err != nil || !p.Addr().Is4() {
					return errors.New("must be an IPv4 address range, as in 203.0.113.7/32")
				}
			}
			return nil
		},
	}, path)
	return err
}

func (c *completion) types(ctx context.Context) error {
	const path = "pools.*.instance_types"
	if _, said := c.said(path); said || c.pools() {
		return nil
	}
	_, brought := c.said("agents.image")
	choices, err := c.advice.GPUTypes(ctx, !brought)
	if err != nil {
		return err
	}
	_, err = c.ask(ctx, term.Field{
		Label: "Instance type", Help: "What the machines of the compute pool are; they are launched when tasks wait.",
		Flag: "--instance-type", Default: spec.DefaultAWSPool().InstanceTypes[0], Choices: choices,
		Check: func(ctx context.Context, name string) error { return c.advice.Offered(ctx, name, !brought) },
	}, path)
	return err
}

func (c *completion) agents(ctx context.Context) error {
	const path = "pools.*.max_agents"
	if _, said := c.said(path); said || c.pools() {
		return nil
	}
	kind, said := c.said("pools.*.instance_types")
	if !said {
		kind = spec.DefaultAWSPool().InstanceTypes[0]
	}
	_, err := c.ask(ctx, term.Field{
		Label: "Most machines", Help: "How many of them may run at a time.", Flag: "--max-agents",
		Default: strconv.Itoa(spec.DefaultAWSPool().MaxAgents),
		Check: func(ctx context.Context, text string) error {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return errors.New("must be a number, 1 or more")
			}
			return c.advice.Room(ctx, strings.Split(kind, ",")[0], n)
		},
	}, path)
	return err
}

// noKeyPair is the answer for a cluster into whose machines nobody logs in.
const noKeyPair = "none"

func (c *completion) keyPair(ctx context.Context) error {
	if _, said := c.said("key_pair"); said {
		return nil
	}
	names, err := c.advice.KeyPairs(ctx)
	if err != nil || len(names) == 0 {
		return err
	}
	f := term.Field{
		Label: "Key pair", Help: "For SSH to the machines; the cluster needs none.", Flag: "--key-pair", Default: noKeyPair,
		Check: func(_ context.Context, name string) error {
			return wire.Has(append(names, noKeyPair), name, "key pair")
		},
	}
	for _, n := range names {
		f.Choices = append(f.Choices, term.Choice{Value: n})
	}
	answer, err := c.Fill(ctx, f)
	c.asked = true
	if err == nil && answer != noKeyPair {
		c.add("key_pair", f.Flag, answer)
	}
	return err
}

// ask fills in a field and keeps the answer as if its flag had been given.
func (c *completion) ask(ctx context.Context, f term.Field, path string) (string, error) {
	answer, err := c.Fill(ctx, f)
	if err == nil {
		c.add(path, f.Flag, answer)
	}
	c.asked = true
	return answer, err
}

func (c *completion) add(path, flag, value string) {
	c.given.Flags = append(c.given.Flags, document.Given{Path: path, Value: value, Source: flag})
}

// said is what the user said of a setting by flag, variable or file.
func (c *completion) said(path string) (value string, said bool) {
	for _, f := range c.given.Flags {
		if f.Path == path {
			return f.Value, true
		}
	}
	if c.given.File == nil {
		return "", false
	}
	d, err := document.Parse(c.given.File, c.given.FileName)
	if err != nil {
		return "", false // whoever reads it next complains better
	}
	n, ok := d.Root().Get(path)
	if ok {
		return n.Text(), true
	}
	var a spec.AWS
	_ = d.Decode(&a) // only what it mentions is of interest here
	return "", d.Given(path)
}

// pools reports whether the file describes pools of its own.
func (c *completion) pools() bool {
	_, said := c.said("pools")
	return said
}

// echo shows the command line that says the same.
func (c *completion) echo() {
	if !c.asked {
		return
	}
	c.Notef("")
	c.Notef("Equivalent command:")
	c.Notef("")
	c.Notef("  %s", c.w.line(c.given.Flags))
	c.Notef("")
}

// line is a command line that gives flags, of which a secret's says only where it
// is. What was given by variable is given by it again.
func (w *wanted) line(flags []document.Given) string {
	args := []string{"det-deploy", "aws", "up", "--cluster-id", w.Cluster}
	if w.Profile != "" {
		args = append(args, "--profile", w.Profile)
	}
	if w.File != "" {
		args = append(args, "--config-file", w.File)
	}
	for _, b := range w.Binaries {
		args = append(args, "--binary", b)
	}
	about := map[string]spec.AWSFlag{}
	for _, f := range spec.AWSFlags() {
		about[f.Path] = f
	}
	for _, f := range flags {
		switch flag := about[f.Path]; {
		case !strings.HasPrefix(f.Source, "--"):
		case flag.Bool:
			args = append(args, f.Source+"="+f.Value)
		case flag.FromFile && w.Set != nil: // what is given is what was in it
			args = append(args, f.Source, w.Set.Lookup(flag.Flag).Value.String())
		default:
			args = append(args, f.Source, f.Value)
		}
	}
	return shellescape.QuoteCommand(args)
}
