// Package attest proves the identity of an EC2 instance: the instance signs an STS
// GetCallerIdentity request with its role and passes it on unsent; the verifier sends it and
// receives the instance ID from AWS itself.
package attest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/det-deploy/det-deploy/cloud"
)

// Kind is the proof type in cloud.Proof.
const Kind = "aws-sts"

// Audience is the header that holds the cluster ID. It is signed, so that a proof for one cluster
// is invalid for any other.
const Audience = "X-Det-Deploy-Cluster"

// Nonce is a header that makes every proof unique, including two of the same second. It prevents
// replays.
const Nonce = "X-Det-Deploy-Nonce"

// Body is the body of the GetCallerIdentity request. A proof is usable for no other request.
const Body = "Action=GetCallerIdentity&Version=2011-06-15"

// Signed is a signed, unsent request: a POST of Body to URL.
type Signed struct {
	URL    string            `json:"url"`
	Header map[string]string `json:"header"`
}

// Machine signs proofs.
type Machine struct {
	Credentials aws.CredentialsProvider
	Region      string
	// Endpoint overrides Amazon's endpoint URL if it is not empty.
	Endpoint string
	Now      func() time.Time
}

// URL returns the STS endpoint of a region.
func URL(region, endpoint string) string {
	if endpoint != "" {
		return strings.TrimSuffix(endpoint, "/") + "/"
	}
	suffix := "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		suffix += ".cn"
	}
	return "https://sts." + region + "." + suffix + "/"
}

// Sign returns a proof for one cluster. It is valid for 15 minutes, Amazon's limit. It makes no API
// calls.
func (m Machine) Sign(ctx context.Context, cluster string) (cloud.Proof, error) {
	if cluster == "" {
		return cloud.Proof{}, errors.New("sign a proof of identity: no cluster ID")
	}
	keys, err := m.Credentials.Retrieve(ctx)
	if err != nil {
		return cloud.Proof{}, &cloud.Error{
			Kind: cloud.Denied, Op: "sign a proof of identity", Err: err,
			Fix: "attach an instance profile with a role to the instance",
		}
	}
	url := URL(m.Region, m.Endpoint)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(Body))
	if err != nil {
		return cloud.Proof{}, fmt.Errorf("sign a proof of identity: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	req.Header.Set(Audience, cluster)
	req.Header.Set(Nonce, rand.Text())
	sum := sha256.Sum256([]byte(Body))
	if err := v4.NewSigner().SignHTTP(ctx, keys, req, hex.EncodeToString(sum[:]), "sts", m.Region, m.Now()); err != nil {
		return cloud.Proof{}, fmt.Errorf("sign a proof of identity: %w", err)
	}
	s := Signed{URL: url, Header: map[string]string{}}
	for name := range req.Header {
		s.Header[name] = req.Header.Get(name)
	}
	data, err := json.Marshal(s)
	if err != nil {
		return cloud.Proof{}, fmt.Errorf("sign a proof of identity: %w", err)
	}
	return cloud.Proof{Kind: Kind, Data: data}, nil
}
