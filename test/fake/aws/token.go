package awstest

import "github.com/aws/aws-sdk-go-v2/aws"

// made remembers what a call with an idempotency token made.
func (s *site) made(op string, token *string, id string) {
	if t := aws.ToString(token); t != "" {
		s.ec2.tokens[op+" "+t] = id
	}
}

// again is what the same token made before.
func again[T any](s *site, t *table[T], op string, token *string) (*T, bool) {
	id, ok := s.ec2.tokens[op+" "+aws.ToString(token)]
	if !ok || aws.ToString(token) == "" {
		return nil, false
	}
	for _, r := range t.rows {
		if r.id == id {
			v := *r.v
			return &v, true // also when it is gone by now, as EC2 does
		}
	}
	return nil, false
}
