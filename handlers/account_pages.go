package handlers

type accountPages struct{ *Kit }
