package facts

import "slices"

// PlaceOf returns the place of a region, such as "Iowa", or "" for an unknown region. No call returns
// places.
// https://cloud.google.com/compute/docs/regions-zones
func PlaceOf(region string) string { return places()[region] }

// Known returns the regions of Google Cloud whose place is known, sorted, each with the place after a tab.
func Known() []string {
	var out []string
	for region, place := range places() {
		out = append(out, region+"\t"+place)
	}
	slices.Sort(out)
	return out
}

func places() map[string]string {
	return map[string]string{
		"africa-south1":           "Johannesburg",
		"asia-east1":              "Taiwan",
		"asia-east2":              "Hong Kong",
		"asia-northeast1":         "Tokyo",
		"asia-northeast2":         "Osaka",
		"asia-northeast3":         "Seoul",
		"asia-south1":             "Mumbai",
		"asia-south2":             "Delhi",
		"asia-southeast1":         "Singapore",
		"asia-southeast2":         "Jakarta",
		"australia-southeast1":    "Sydney",
		"australia-southeast2":    "Melbourne",
		"europe-central2":         "Warsaw",
		"europe-north1":           "Finland",
		"europe-north2":           "Stockholm",
		"europe-southwest1":       "Madrid",
		"europe-west1":            "Belgium",
		"europe-west10":           "Berlin",
		"europe-west12":           "Turin",
		"europe-west2":            "London",
		"europe-west3":            "Frankfurt",
		"europe-west4":            "Netherlands",
		"europe-west6":            "Zurich",
		"europe-west8":            "Milan",
		"europe-west9":            "Paris",
		"me-central1":             "Doha",
		"me-central2":             "Dammam",
		"me-west1":                "Tel Aviv",
		"northamerica-northeast1": "Montréal",
		"northamerica-northeast2": "Toronto",
		"northamerica-south1":     "Mexico",
		"southamerica-east1":      "São Paulo",
		"southamerica-west1":      "Santiago",
		"us-central1":             "Iowa",
		"us-east1":                "South Carolina",
		"us-east4":                "N. Virginia",
		"us-east5":                "Columbus",
		"us-south1":               "Dallas",
		"us-west1":                "Oregon",
		"us-west2":                "Los Angeles",
		"us-west3":                "Salt Lake City",
		"us-west4":                "Las Vegas",
	}
}
