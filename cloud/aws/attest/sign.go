// Package attest proves the identity of an EC2 machine: the machine signs an STS
// GetCallerIdentity request with its role and hands it over unsent; the verifier sends
// it and learns the machine's ID from Amazon itself.
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

// Kind names this form of proof in cloud.Proof.
const Kind = "aws-sts"

// Audience is the header that holds the cluster's id. It is under the
// signature, so that a proof for one cluster opens no other.
const Audience = "X-Det-Deploy-Cluster"

// Nonce is a header that makes every proof another one, also two of the same
// second: a proof that was shown is not shown again.
const Nonce = "X-Det-Deploy-Nonce"

// Body is the question: who am I? It is all that a proof is good for.
const Body = "Action=GetCallerIdentity&Version=2011-06-15"

// Signed is a question that was signed and not sent: a POST of Body to URL.
type Signed struct {
	URL    string            `json:"url"`
	Header map[string]string `json:"header"`
}

// Machine is who signs.
type Machine struct {
	Credentials aws.CredentialsProvider
	Region      string
	// Endpoint takes the place of Amazon's address; empty otherwise.
	Endpoint string
	Now      func() time.Time
}

// URL is where a region's questions of identity are answered.
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

// Sign makes a proof for one cluster. It is good for a quarter of an hour,
// Amazon's limit, and nothing is sent.
func (m Machine) Sign(ctx context.Context, cluster string) (cloud.Proof, error) {
	if cluster == "" {
		return cloud.Proof{}, errors.New("sign a proof of identity: for which cluster is not said")
	}
	keys, err := m.Credentials.Retrieve(ctx)
	if err != nil {
		return cloud.Proof{}, &cloud.Error{
			Kind: cloud.Denied, Op: "sign a proof of identity", Err: err,
			Fix: "give the machine an instance profile with a role",
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
