package hostile_test

// open are the attempts that succeed today, and what mends them. An attempt that is
// refused must be taken off.
var open = map[string]string{
	"a task's description has a NUL":                       "access",
	"a task's description has a carriage return":           "access",
	"a task's description has a right-to-left override":    "access",
	"a task's description has an escape sequence":          "access",
	"a task's description has an isolate":                  "access",
	"a task's description has lines":                       "access",
	"a task's description has megabytes":                   "access",
	"a user is called admin with a byte order mark":        "access",
	"a user is called admin with a joiner":                 "access",
	"a user is called admin with a mark":                   "access",
	"a user is called admin with a right-to-left override": "access",
	"a user is called admin with a soft hyphen":            "access",
	"a user is called admin with a variation":              "access",
	"a user is called admin with a zero width space":       "access",
	"a user is called admin with an isolate":               "access",
	"a user is called admin with full width":               "access",
	"mallory's display name has a NUL":                     "access",
	"mallory's display name has a carriage return":         "access",
	"mallory's display name has a right-to-left override":  "access",
	"mallory's display name has an escape sequence":        "access",
	"mallory's display name has an isolate":                "access",
	"mallory's display name has lines":                     "access",
	"mallory's display name has megabytes":                 "access",
}
