package gcptest

import (
	"strings"

	"google.golang.org/api/logging/v2"
)

// secretNeeds: https://cloud.google.com/secret-manager/docs/access-control
func (c *call) secretNeeds() []need {
	verb := c.verbOf()
	on := resourceName{path: "projects/" + c.projectID()}
	if c.params["secretsId"] != "" {
		on = c.secretResource()
	}
	switch {
	case verb == "testIamPermissions":
		return nil
	case verb == "addVersion":
		return []need{{"secretmanager.versions.add", on}}
	case strings.Contains(c.ID, ".versions."):
		return []need{{"secretmanager.versions." + verb, on}}
	case verb == "patch":
		return []need{{"secretmanager.secrets.update", on}}
	}
	return []need{{"secretmanager.secrets." + verb, on}}
}

// logNeeds: https://cloud.google.com/logging/docs/access-control
func (c *call) logNeeds() []need {
	switch c.ID {
	case "logging.entries.write":
		in := decode[logging.WriteLogEntriesRequest](c)
		var out []need
		for _, name := range append([]string{in.LogName}, logNames(in.Entries)...) {
			if parts := strings.Split(name, "/"); len(parts) == 4 {
				out = append(out, need{"logging.logEntries.create", resourceName{path: "projects/" + parts[1]}})
			}
		}
		return out
	case "logging.entries.list":
		var out []need
		for _, name := range decode[logging.ListLogEntriesRequest](c).ResourceNames {
			out = append(out, need{"logging.logEntries.list", resourceName{path: name}})
		}
		return out
	}
	return []need{{"logging.logs." + c.verbOf(), resourceName{path: "projects/" + c.projectID()}}}
}

func logNames(entries []*logging.LogEntry) []string {
	var out []string
	for _, e := range entries {
		out = append(out, e.LogName)
	}
	return out
}

// serviceNeeds: https://cloud.google.com/service-usage/docs/access-control
func (c *call) serviceNeeds() []need {
	project := resourceName{path: "projects/" + c.projectID()}
	switch c.verbOf() {
	case "get", "list", "batchGet":
		if c.ID == "serviceusage.operations.get" {
			return nil
		}
		return []need{{"serviceusage.services." + strings.Replace(c.verbOf(), "batchGet", "get", 1), project}}
	}
	return []need{{"serviceusage.services." + strings.Replace(c.verbOf(), "batchEnable", "enable", 1), project}}
}
