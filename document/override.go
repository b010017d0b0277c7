package document

import "strings"

// Override is a setting that may also be given by flag or environment.
type Override struct {
	// Path is the setting's place in the document: "db.user".
	Path string
	// Env is the variable, Flag the flag without its dashes; either may be empty.
	Env   string
	Flag  string
	Usage string
	// Reference marks a secret that a command line may only refer to, because
	// other users of the machine can read the arguments of its processes.
	Reference bool
	// Bool marks a flag that needs no value.
	Bool bool
}

// Given is an override that was given.
type Given struct {
	Path  string
	Value string
	// Source is what gave it, as messages say it: "--port" or "DET_PORT".
	Source string
}

// EnvName is the variable of a path: DET_DB_USER for "db.user".
func EnvName(path string) string {
	return "DET_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// FlagName is the flag of a path: db-user for "db.user".
func FlagName(path string) string {
	return strings.ReplaceAll(strings.ReplaceAll(path, ".", "-"), "_", "-")
}

// Apply sets each value that was given, over what the document says.
func (d *Document) Apply(given []Given) Errors {
	var e Errors
	for _, g := range given {
		if p := d.Set(g.Path, g.Value, g.Source); p != nil {
			e = append(e, *p)
		}
	}
	return e
}
