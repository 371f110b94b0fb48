"""A client that creates subscriptions and keeps no record: httpx, threads, connections that are kept open.

Run by the interpreter of the program that it is compared with: `python bare_client.py URL COUNT THREADS`.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import httpx


def create(client: httpx.Client, url: str, number: int) -> None:
    """Send one create; raises if it is refused."""
    body = {"eventCodes": [f"ONB{number:05d}"], "webhookUrl": f"https://hooks.partner.example/s{number:05d}"}
    answer = client.post(f"{url}/notification/webhooksubscription", json=body)
    answer.raise_for_status()


def main(url: str, count: int, threads: int) -> None:
    """Get a token, then send all creates."""
    with httpx.Client(timeout=30) as client, ThreadPoolExecutor(threads) as pool:
        wanted = {"grant_type": "client_credentials", "client_id": "the-client", "client_secret": "the-secret"}
        token = client.post(f"{url}/oauth/token", json=wanted).json()["access_token"]
        client.headers["authorization"] = f"Bearer {token}"
        for done in [pool.submit(create, client, url, number) for number in range(count)]:
            done.result()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
