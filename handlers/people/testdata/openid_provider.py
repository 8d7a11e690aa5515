"""A provider of OpenID 2.0 made of python-openid and its teams extension. Everyone who comes is signed
in as NICKNAME, a member of TEAMS. It prints its address when it is ready, and runs until its standard
input ends.

Usage: openid_provider.py NICKNAME TEAMS
"""
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from openid.extensions import sreg
from openid.server.server import Server
from openid.store.memstore import MemoryStore
from openid_teams import teams

nickname, member_of = sys.argv[1], [t for t in sys.argv[2].split(",") if t]


class Handler(BaseHTTPRequestHandler):
    def respond(self, query):
        base = "http://%s:%d" % self.server.server_address[:2]
        provider = Server(store, base + "/+openid")
        request = provider.decodeRequest(query)
        if request.mode in ("checkid_setup", "checkid_immediate"):
            identity = base + "/+id/py7hon"
            answer = request.answer(True, identity=identity, claimed_id=identity)
            answer.addExtension(sreg.SRegResponse.extractResponse(
                sreg.SRegRequest.fromOpenIDRequest(request), {"nickname": nickname}))
            asked = teams.TeamsRequest.fromOpenIDRequest(request)
            answer.addExtension(teams.TeamsResponse.extractResponse(asked, member_of))
        else:
            answer = provider.handleRequest(request)
        web = provider.encodeResponse(answer)
        self.send_response(web.code)
        for name, value in web.headers.items():
            self.send_header(name, value)
        self.end_headers()
        body = web.body
        self.wfile.write(body if isinstance(body, bytes) else body.encode())

    def do_GET(self):
        self.respond(dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True)))

    def do_POST(self):
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.respond(dict(parse_qsl(form, keep_blank_values=True)))

    def log_message(self, *args):
        pass


store = MemoryStore()
server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print("http://%s:%d" % server.server_address[:2], flush=True)
sys.stdin.read()
