// SPDX-License-Identifier: Apache-2.0
// http_origin.js - says on its output how it understood each request
//
// usage: node http_origin.js NAME=ADDRESS:PORT[:lenient]...
//
// One JSON line for each: server, method, url, host, length of the body, and
// whether it was whole. A request for /sentinel is answered when no other
// connection to that server is open, after a line of its own: what was said
// before is on the output.
"use strict";
const http = require("http");

function tell(line) {
	process.stdout.write(JSON.stringify(line) + "\n");
}

function serve(name, address, port, lenient) {
	const sockets = new Set();
	const waiting = [];
	const settle = () => {
		while (waiting.length && sockets.size <= waiting.length)
			waiting.shift()();
	};
	const server = http.createServer({ insecureHTTPParser: lenient }, (request, response) => {
		if (request.url === "/sentinel") {
			waiting.push(() => {
				tell({ server: name, url: request.url });
				response.writeHead(204, { Connection: "close" }).end();
			});
			setImmediate(settle);
			return;
		}
		let length = 0, told = false;
		const say = (whole) => {
			if (told)
				return;
			told = true;
			tell({ server: name, method: request.method, url: request.url,
				host: request.headers.host, length, whole });
		};
		request.on("data", (bytes) => { length += bytes.length; });
		request.on("error", () => say(false));
		request.on("close", () => say(request.complete));
		request.on("end", () => {
			say(true);
			response.setHeader("Content-Type", "text/plain");
			response.end("seen\n");
		});
	});
	server.on("connection", (socket) => {
		sockets.add(socket);
		socket.on("close", () => {
			sockets.delete(socket);
			setImmediate(settle);
		});
	});
	server.keepAliveTimeout = 60000;
	server.listen(port, address, () => tell({ ready: name }));
}

for (const word of process.argv.slice(2)) {
	const [name, place] = word.split("=");
	const [address, port, lenient] = place.split(":");
	serve(name, address, Number(port), lenient === "lenient");
}
