package awstest

import "github.com/aws/aws-sdk-go-v2/aws"

// made records the object created by a call with an idempotency token.
func (s *site) made(op string, token *string, id string) {
	if t := aws.ToString(token); t != "" {
		s.ec2.tokens[op+" "+t] = id
	}
}

// again returns the object created earlier with the same token.
func again[T any](s *site, t *table[T], op string, token *string) (*T, bool) {
	id, ok := s.ec2.tokens[op+" "+aws.ToString(token)]
	if !ok || aws.ToString(token) == "" {
		return nil, false
	}
	for _, r := range t.rows {
		if r.id == id {
			v := *r.v
			return &v, true // even if it was deleted, like EC2
		}
	}
	return nil, false
}
