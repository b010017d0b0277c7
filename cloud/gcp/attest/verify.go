package attest

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/det-deploy/det-deploy/cloud"
)

// Machine is a machine that the master launched, as Google has it.
type Machine struct {
	Project, Zone, Name string
	// Number is Google's own: another machine of the same name has another.
	Number uint64
	// Account is the e-mail address of the service account that the pool's machines have,
	// or empty for machines without.
	Account string
}

// Machines knows the machines that the master launched.
type Machines interface {
	// FindMachine looks at a machine. The refusal NotFound means that the master has not
	// launched it, or does not know so yet.
	FindMachine(ctx context.Context, name cloud.InstanceID) (Machine, error)
	// ReadGuestAttribute is what a machine itself wrote below a key, "namespace/key". The
	// refusal NotFound means that it wrote nothing.
	ReadGuestAttribute(ctx context.Context, m Machine, key string) (string, error)
}

// Verifier checks proofs of both forms.
//
// What protects a machine's identity, layer by layer:
//
//   - A token is signed by Google, and says which machine asked for it: its name, and its
//     number, which no other machine ever has. The machine cannot choose them.
//   - The service account is the pool's: a person who may use it cannot make a token with
//     a machine in it.
//   - The cluster and a nonce are the token's audience, so that a proof that was shown to
//     another master opens nothing here; so does its time.
//   - A guest attribute can be written on the machine alone, and the master reads it under
//     the name that it gave the machine. It is a commitment: who reads it cannot show it.
//   - What a proof opens is its caller's business: the door of a machine that was
//     launched, once. A process on that machine which may reach its metadata server is
//     that machine.
type Verifier struct {
	Keys     *Keys
	Machines Machines
	Now      func() time.Time
}

var _ cloud.Attestor = Verifier{}

// Attest implements cloud.Attestor. Unavailable means that Google could not be asked,
// NotFound that the machine is not known, or not yet.
func (v Verifier) Attest(ctx context.Context, audience string, proof cloud.Proof) (cloud.Attested, error) {
	switch proof.Kind {
	case KindToken:
		return v.attestToken(ctx, audience, proof.Data)
	case KindGuest:
		return v.attestGuest(ctx, audience, proof.Data)
	}
	return cloud.Attested{}, denied(errors.New("it is not a proof of a Google machine"))
}

func denied(err error) error {
	return &cloud.Error{
		Kind: cloud.Denied, Op: "check a proof of identity", Err: err,
		Fix: "launch agents with the service account of provider.service_account, or without any, and keep the clocks of machines right",
	}
}

// attestToken checks a token. The machine is looked at last: only Google's word makes
// the master ask.
func (v Verifier) attestToken(ctx context.Context, cluster string, data []byte) (cloud.Attested, error) {
	t, err := parseToken(data)
	if err != nil {
		return cloud.Attested{}, denied(err)
	}
	key, err := v.Keys.find(ctx, t.keyID)
	if err == nil {
		err = t.checkSignature(key)
	}
	if err == nil {
		err = t.claims.check(cluster, v.Now())
	}
	if err != nil {
		return cloud.Attested{}, deniedUnlessKnown(err)
	}
	name := cloud.InstanceID(t.claims.Google.Machine.Name)
	m, err := v.Machines.FindMachine(ctx, name)
	if err != nil {
		return cloud.Attested{}, err
	}
	if err := t.claims.checkMachine(m); err != nil {
		return cloud.Attested{}, denied(err)
	}
	return cloud.Attested{Instance: name, Once: t.once()}, nil
}

// deniedUnlessKnown leaves a refusal that has a kind as it is.
func deniedUnlessKnown(err error) error {
	if cloud.KindOf(err) != cloud.Unknown {
		return err
	}
	return denied(err)
}

// checkMachine holds what a token says against the machine that was launched.
func (c claims) checkMachine(m Machine) error {
	says := c.Google.Machine
	switch {
	case m.Account == "" || c.Email != m.Account || !c.EmailVerified:
		return fmt.Errorf("it is a token of account %.80q, which is not the one that machines of the pool have", c.Email)
	case says.Project != m.Project:
		return fmt.Errorf("its machine is in project %.40q, and %s is in %s", says.Project, m.Name, m.Project)
	case says.Zone != m.Zone:
		return fmt.Errorf("its machine is in zone %.40q, and %s is in %s", says.Zone, m.Name, m.Zone)
	case says.Name != m.Name:
		return fmt.Errorf("its machine is %.80q, and not %s", says.Name, m.Name)
	case m.Number == 0 || says.Number.String() != strconv.FormatUint(m.Number, 10):
		return fmt.Errorf("its machine is another one of the name %s", m.Name)
	}
	return nil
}

// secretForm is the form of the secret: more than anybody can guess.
var secretForm = nonceForm

// attestGuest checks that a machine knows the secret of its guest attribute. A machine
// with a service account has tokens, and proves itself by these alone.
func (v Verifier) attestGuest(ctx context.Context, cluster string, data []byte) (cloud.Attested, error) {
	var g Guest
	if len(data) > tokenLimit || json.Unmarshal(data, &g) != nil || cluster == "" || !secretForm.MatchString(g.Secret) {
		return cloud.Attested{}, denied(errors.New("it is not the name of a machine and a secret"))
	}
	m, err := v.Machines.FindMachine(ctx, cloud.InstanceID(g.Name))
	switch {
	case err != nil:
		return cloud.Attested{}, err
	case m.Account != "":
		return cloud.Attested{}, denied(fmt.Errorf("machine %s has a service account, and must show a token of it", m.Name))
	}
	written, err := v.Machines.ReadGuestAttribute(ctx, m, GuestKey)
	if err != nil && cloud.KindOf(err) != cloud.NotFound {
		return cloud.Attested{}, err
	}
	want := Commitment(cluster, g)
	if subtle.ConstantTimeCompare([]byte(written), []byte(want)) != 1 {
		return cloud.Attested{}, denied(fmt.Errorf("it is not what machine %s wrote into its guest attribute %s", m.Name, GuestKey))
	}
	return cloud.Attested{Instance: cloud.InstanceID(g.Name), Once: want}, nil
}
