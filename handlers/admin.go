package handlers

type adminPages struct{ *Kit }
