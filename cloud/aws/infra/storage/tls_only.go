package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/infra"
)

// tlsStatement is the Sid of det-deploy's statement. The user may add others.
const tlsStatement = "DetDeployTLSOnly"

// TLSOnly is the statement in a bucket policy that denies plain HTTP. All other statements belong
// to the user.
type TLSOnly struct {
	S3     api.S3
	Bucket string
}

// Look reports whether the policy contains the statement and whether it is unmodified. It returns
// false if the bucket does not exist.
func (t TLSOnly) Look(ctx context.Context) (found, whole bool, err error) {
	have, err := t.policyText(ctx)
	if err != nil || have == "" {
		return false, false, err
	}
	doc, err := readPolicy(have, t.Bucket)
	if err != nil {
		return false, false, err
	}
	_, ours := splitStatements(doc)
	return len(ours) > 0, len(ours) == 1 && sameStatement(ours[0], tlsOnly(t.Bucket)), nil
}

// Put adds the statement to the policy. It is idempotent.
func (t TLSOnly) Put(ctx context.Context) error {
	have, err := t.policyText(ctx)
	if err != nil {
		return err
	}
	want, err := withTLSOnly(have, t.Bucket)
	if err != nil {
		return err
	}
	_, err = t.S3.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: aws.String(t.Bucket), Policy: aws.String(want)})
	return err
}

// policyText returns the bucket policy, or "" if the bucket has no policy.
func (t TLSOnly) policyText(ctx context.Context) (string, error) {
	out, err := t.S3.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: aws.String(t.Bucket)})
	if err != nil {
		return "", infra.IgnoreMissing(err)
	}
	return aws.ToString(out.Policy), nil
}

// withTLSOnly adds the statement to a policy and keeps all others.
func withTLSOnly(policy, bucket string) (string, error) {
	doc, err := readPolicy(policy, bucket)
	if err != nil {
		return "", err
	}
	others, _ := splitStatements(doc)
	doc["Statement"] = append(others, tlsOnly(bucket))
	out, err := json.Marshal(doc)
	if err != nil {
		return "", fmt.Errorf("write the policy of bucket %s: %w", bucket, err)
	}
	return string(out), nil
}

func readPolicy(policy, bucket string) (map[string]any, error) {
	doc := map[string]any{"Version": "2012-10-17"}
	if policy == "" {
		return doc, nil
	}
	if err := json.Unmarshal([]byte(policy), &doc); err != nil {
		return nil, fmt.Errorf("read the policy of bucket %s: %w", bucket, err)
	}
	return doc, nil
}

// splitStatements separates the user's statements from det-deploy's.
func splitStatements(doc map[string]any) (others, ours []any) {
	all, ok := doc["Statement"].([]any)
	if !ok && doc["Statement"] != nil {
		all = []any{doc["Statement"]} // a single statement need not be a list
	}
	for _, s := range all {
		if m, ok := s.(map[string]any); ok && m["Sid"] == tlsStatement {
			ours = append(ours, s)
		} else {
			others = append(others, s)
		}
	}
	return others, ours
}

func tlsOnly(bucket string) any {
	arn := "arn:aws:s3:::" + bucket
	return map[string]any{
		"Sid": tlsStatement, "Effect": "Deny", "Principal": "*", "Action": "s3:*",
		"Resource":  []any{arn, arn + "/*"},
		"Condition": map[string]any{"Bool": map[string]any{"aws:SecureTransport": "false"}},
	}
}

// sameStatement compares two statements. S3 returns lists in any order, and a list of one element
// as that element.
func sameStatement(a, b any) bool { return reflect.DeepEqual(withSets(a), withSets(b)) }

// withSets normalizes the actions and resources of a statement to sorted lists.
func withSets(statement any) any {
	m, ok := statement.(map[string]any)
	if !ok {
		return statement
	}
	out := maps.Clone(m)
	for _, key := range []string{"Action", "Resource"} {
		if v, ok := out[key]; ok {
			out[key] = setOf(v)
		}
	}
	return out
}

func setOf(v any) []string {
	all, ok := v.([]any)
	if !ok {
		all = []any{v}
	}
	out := make([]string, len(all))
	for i, one := range all {
		out[i] = fmt.Sprint(one)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
