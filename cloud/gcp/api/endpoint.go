package api

import "google.golang.org/api/option"

// endpoints are the addresses of services that are not where Google has them, such as
// private endpoints, by the names that gcloud has for the services: "compute". It is empty
// for one that is, and may be nil.
type endpoints func(service string) string

// options are those of a service's client.
func (e endpoints) options(service string, client option.ClientOption) []option.ClientOption {
	if e == nil || e(service) == "" {
		return []option.ClientOption{client}
	}
	return []option.ClientOption{client, option.WithEndpoint(e(service))}
}
